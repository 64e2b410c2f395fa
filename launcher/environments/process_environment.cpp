#include "launcher/environments/process_environment.h"

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "hftrain/base/text.h"

namespace hftrain::launcher {

Environment environment_at(const std::filesystem::path& process) {
  std::ifstream file(process / "environ", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::map<std::string, std::string> variables;
  for (const std::string& line : split(text, '\0')) {
    const size_t equals = line.find('=');
    if (equals != std::string::npos) variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return Environment(std::move(variables));
}

}  // namespace hftrain::launcher

#include "launcher/environments/rank_starter.h"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"
#include "launcher/environments/process_environment.h"

namespace hftrain::launcher {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;
constexpr int kMostBetween = 64;

bool has_all(const Environment& environment, const Variables& variables) {
  return std::ranges::all_of(
      variables, [&](const auto& variable) { return environment.get(variable.first) == variable.second; });
}

// 0: it has none, or is gone.
int parent_of(const std::string& folder) {
  constexpr std::string_view kParent = "PPid:";
  std::ifstream status(folder + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kParent)) return whole_number(trim(line.substr(kParent.size()))).value_or(0);
  }
  return 0;
}

}  // namespace

pid_t starter_of_rank(const Variables& variables, pid_t parent, const std::string& root) {
  for (int i = 0; i < kMostBetween && !variables.empty(); ++i) {
    const std::string folder = root + "proc/" + std::to_string(parent);
    const int above = has_all(environment_at(folder), variables) ? parent_of(folder) : 0;
    if (above == 0) break;
    parent = above;
  }
  return parent;
}

}  // namespace hftrain::launcher

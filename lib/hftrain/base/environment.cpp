#include "hftrain/base/environment.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

namespace hftrain {
namespace {

std::string home_of_user() {
  std::array<char, 16384> text;
  passwd entry{};
  passwd* found = nullptr;
  const int error = ::getpwuid_r(::getuid(), &entry, text.data(), text.size(), &found);
  return error == 0 && found != nullptr && found->pw_dir != nullptr ? found->pw_dir : "";
}

}  // namespace

Environment Environment::of_process() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (!variables.contains("HOME")) {
    if (const std::string home = home_of_user(); !home.empty()) variables["HOME"] = home;
  }
  return Environment(std::move(variables));
}

std::optional<std::string> Environment::get(const std::string& name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return std::nullopt;
  return found->second;
}

std::string Environment::get_or(const std::string& name, const std::string& otherwise) const {
  return get(name).value_or(otherwise);
}

std::vector<std::string> Environment::as_strings() const {
  std::vector<std::string> strings;
  strings.reserve(variables_.size());
  for (const auto& [name, value] : variables_) strings.push_back(name + '=' + value);
  return strings;
}

}  // namespace hftrain

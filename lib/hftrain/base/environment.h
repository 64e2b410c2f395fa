// A snapshot of the process environment as a value, so that whatever depends on it can be tested.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hftrain {

class Environment {
 public:
  Environment() = default;
  explicit Environment(std::map<std::string, std::string> variables) : variables_(std::move(variables)) {}
  // Copies the environment of this process. Called once, in main. HOME that is not set (cron, containers) is what the password file
  // says, as Python's expanduser has it.
  static Environment of_process();

  std::optional<std::string> get(const std::string& name) const;
  std::string get_or(const std::string& name, const std::string& otherwise) const;
  void set(const std::string& name, std::string value) { variables_[name] = std::move(value); }
  void unset(const std::string& name) { variables_.erase(name); }
  const std::map<std::string, std::string>& variables() const noexcept { return variables_; }
  // NAME=value strings, for execve.
  std::vector<std::string> as_strings() const;

 private:
  std::map<std::string, std::string> variables_;
};

}  // namespace hftrain

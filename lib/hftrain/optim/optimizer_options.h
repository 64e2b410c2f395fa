// Reading of optim_args: typed values, with every key used exactly once.
#pragma once

#include <map>
#include <set>
#include <string>

namespace hftrain::optim {

// Keys that are never asked for are an Error (exit code 2) of finish().
class OptimizerOptions {
 public:
  OptimizerOptions(std::string optimizer, std::map<std::string, std::string> values)
      : optimizer_(std::move(optimizer)), values_(std::move(values)) {}

  // The value of `key` or `otherwise`; a value that is not of that type is an Error (exit code 2).
  double number(const std::string& key, double otherwise);
  bool boolean(const std::string& key, bool otherwise);
  std::string text(const std::string& key, const std::string& otherwise);
  void finish() const;
  // An Error about this optimizer's options.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const std::string* take(const std::string& key);

  std::string optimizer_;
  std::map<std::string, std::string> values_;
  std::set<std::string> known_;
};

}  // namespace hftrain::optim

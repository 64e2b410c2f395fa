// Reading of lr_scheduler_kwargs: typed values, with every key known.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hftrain/base/json.h"

namespace hftrain::optim {

// Every accessor throws Error (exit code 2) when the value has another type or is out of its range.
class ScheduleOptions {
 public:
  // `options` is an object or null; anything else is an Error.
  ScheduleOptions(std::string schedule, Json options);

  std::optional<double> number(const std::string& key);
  double number(const std::string& key, double otherwise) { return number(key).value_or(otherwise); }
  std::optional<int64_t> integer(const std::string& key);
  int64_t integer(const std::string& key, int64_t otherwise) { return integer(key).value_or(otherwise); }
  bool boolean(const std::string& key, bool otherwise);
  // One of `choices`; the first one when the key is absent.
  std::string choice(const std::string& key, const std::vector<std::string>& choices);
  // An unknown key is an Error that lists the known ones.
  void finish() const;
  // An Error about this schedule's options.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const Json* take(const std::string& key);

  std::string schedule_;
  Json options_;
  std::set<std::string> known_;
};

}  // namespace hftrain::optim

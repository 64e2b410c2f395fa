// The file behind --search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "hftrain/search/space.h"

namespace hftrain::search {

enum class Method { kGrid, kRandom, kTpe, kAsha };

struct Specification {
  Space space;               // by the names that flags have today; without one in the file the Trainer's
  bool writes_space = true;  // the file has one
  Method method = Method::kTpe;
  int trials = 0;  // 0 only of a grid: all of its points
  std::string metric = "eval_loss";
  bool greater_is_better = false;
  int parallel = 1;
  uint64_t seed = 42;

  // What makes two searches the same: not how many trials, nor how many at a time.
  Json identity() const;
  // How many trials there will be: of a grid no more than its points.
  size_t trial_count() const;
};

const char* method_name(Method method);

// Of the file itself: "parallel".
bool is_search_key(const std::string& name);
// Whether a run logs the metric, with or without its eval_, that evaluates nothing.
bool training_logs(const std::string& metric);

// What a space calls the flag that was written as `name`: of a name that is none, the name.
std::string name_in_space(const std::string& name);

// `text` is YAML; `name` stands in messages. Error(kUsage) with every mistake that was found: keys, ranges, flags that are none,
// stand there twice or are none of a trial, and values that a flag does not take.
Specification read_specification(const std::string& text, const std::string& name);

}  // namespace hftrain::search

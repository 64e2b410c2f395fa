// The keys of a DeepSpeed configuration (deepspeed 0.19.8 and the old names before
// it): what is implemented, what has no effect here and why, what is refused.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/arguments/import/section_check.h"

namespace hftrain::arguments {

// Of the whole file; optimizer.params and scheduler.params depend on their type and are checked with these:
std::span<const SectionKey> deepspeed_keys();

struct DeepSpeedOptimizer {
  std::string_view type;   // in lower case
  std::string_view optim;  // our name
  std::span<const SectionKey> params;
  double learning_rate;  // when params has none
};
// Null for one that hftrain does not have.
const DeepSpeedOptimizer* deepspeed_optimizer(const std::string& type);

struct DeepSpeedScheduler {
  std::string_view type;
  std::vector<SectionKey> params;
  std::string_view same_as;  // the word of --lr_scheduler_type that means the same
};
const DeepSpeedScheduler* deepspeed_scheduler(const std::string& type);
std::vector<std::string> deepspeed_scheduler_types();

}  // namespace hftrain::arguments

#include "launcher/front/trial_flags.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/print_config.h"

namespace hftrain::front {
namespace {

constexpr std::array kGroupsOfLearning = {"run",       "model",        "data",       "batch",
                                          "optimizer", "schedule",     "precision",  "evaluation",
                                          "parallel",  "instructions", "generation", "adapters"};
// Of other groups. The number of ranks is that of the batches that an update sees.
constexpr std::array kFurtherOfLearning = {"nnodes",
                                           "nproc_per_node",
                                           "cpu_ranks",
                                           "worker_program",
                                           "plugin",
                                           "load_best_model_at_end",
                                           "metric_for_best_model",
                                           "greater_is_better",
                                           "early_stopping_patience",
                                           "early_stopping_threshold"};
// Of those groups.
constexpr std::array kFree = {"cache_dir",
                              "dataloader_num_workers",
                              "dataloader_pin_memory",
                              "dataloader_prefetch_factor",
                              "preprocessing_num_workers",
                              "dataset_num_proc",
                              "overwrite_cache",
                              "ddp_backend",
                              "ddp_bucket_cap_mb",
                              "ddp_timeout"};

template <typename Names>
bool has_name(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::set<std::string> drawn_flags(const search::Space& space) {
  std::set<std::string> names;
  for (const search::Parameter& parameter : space) {
    const arguments::FlagMatch match = arguments::flag_table().find(parameter.flag);
    names.insert(match ? std::string(match.flag->name) : parameter.flag);
  }
  return names;
}

}  // namespace

Json common_flags(const arguments::ParseOutcome& parsed, const search::Space& space) {
  const Json all = arguments::arguments_json(parsed);
  const std::set<std::string> drawn = drawn_flags(space);
  Json common = Json::object();
  for (const arguments::FlagGroup& group : arguments::flag_table().groups()) {
    const bool learning = has_name(kGroupsOfLearning, group.name);
    for (const arguments::Flag& flag : group.flags) {
      const std::string name(flag.name);
      const bool counts = learning ? !has_name(kFree, flag.name) : has_name(kFurtherOfLearning, flag.name);
      if (!counts || drawn.contains(name) || !all.contains(name) || all[name] == flag.default_value())
        continue;
      common[name] = all[name];
    }
  }
  return common;
}

}  // namespace hftrain::front

#include "hftrain/arguments/flag_table.h"

#include <algorithm>
#include <stdexcept>

#include "hftrain/arguments/flags/rows.h"

namespace hftrain::arguments {
namespace {

std::string normalised(std::string_view spelling) {
  std::string name(spelling);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::vector<FlagGroup> all_groups() {
  std::vector<FlagGroup> groups;
  groups.push_back({"output", "Output", output_flags()});
  groups.push_back({"run", "What to run", run_flags()});
  groups.push_back({"model", "Model and tokenizer", model_flags()});
  groups.push_back({"data", "Data", data_flags()});
  groups.push_back({"batch", "Batches", batch_flags()});
  groups.push_back({"optimizer", "Optimizer", optimizer_flags()});
  groups.push_back({"schedule", "Learning-rate schedule", schedule_flags()});
  groups.push_back({"precision", "Precision and recomputation", precision_flags()});
  groups.push_back({"evaluation", "Evaluation", evaluation_flags()});
  groups.push_back({"logging", "Logging and trackers", logging_flags()});
  groups.push_back({"saving", "Checkpoints and best model", saving_flags()});
  groups.push_back({"device", "Devices", device_flags()});
  groups.push_back({"launch", "Ranks and launching", launch_flags()});
  groups.push_back({"parallel", "Parallelism", parallel_flags()});
  groups.push_back({"offload", "Offload", offload_flags()});
  groups.push_back({"interface", "hftrain itself", interface_flags()});
  groups.push_back({"generation", "Generation", generation_flags()});
  groups.push_back({"instructions", "Instruction data", instruction_flags()});
  groups.push_back({"adapters", "Adapters", adapter_flags()});
  groups.push_back({"hub", "Hugging Face Hub", hub_flags()});
  groups.push_back({"debug", "Debugging", debug_flags()});
  groups.push_back({"launchers", "Spellings of accelerate launch and deepspeed", launchers_flags()});
  return groups;
}

}  // namespace

FlagTable::FlagTable(std::vector<FlagGroup> groups) : groups_(std::move(groups)) {
  const auto add = [this](std::string_view spelling, FlagMatch match) {
    if (!by_spelling_.emplace(normalised(spelling), match).second) {
      throw std::logic_error("two flags share the spelling " + std::string(spelling));
    }
  };
  for (const FlagGroup& each : groups_) {
    for (const Flag& flag : each.flags) {
      flags_.push_back(&flag);
      if (flag.pattern) {
        patterns_.push_back(&flag);
        continue;
      }
      add(flag.name, {&flag, false});
      for (const std::string_view alias : flag.aliases) add(alias, {&flag, false});
      if (flag.negatable) add("no_" + std::string(flag.name), {&flag, true});
    }
  }
}

const FlagGroup* FlagTable::group(std::string_view name) const {
  const auto found =
      std::find_if(groups_.begin(), groups_.end(), [&](const FlagGroup& each) { return each.name == name; });
  return found == groups_.end() ? nullptr : &*found;
}

FlagMatch FlagTable::find(std::string_view spelling) const {
  const std::string name = normalised(spelling);
  const auto found = by_spelling_.find(name);
  if (found != by_spelling_.end()) return found->second;
  for (const Flag* flag : patterns_) {
    const std::string_view prefix = flag->name.substr(0, flag->name.size() - 1);
    if (name.size() > prefix.size() && name.compare(0, prefix.size(), prefix) == 0) return {flag, false};
  }
  return {};
}

const Flag* FlagTable::find_letter(char letter) const {
  const auto found =
      std::find_if(flags_.begin(), flags_.end(), [&](const Flag* flag) { return flag->letter == letter; });
  return letter == '\0' || found == flags_.end() ? nullptr : *found;
}

const Flag& FlagTable::named(std::string_view name) const {
  const FlagMatch match = find(name);
  if (!match || match.flag->name != name) throw std::logic_error("no flag " + std::string(name));
  return *match.flag;
}

std::vector<std::string> FlagTable::spellings() const {
  std::vector<std::string> names;
  for (const Flag* flag : flags_) {
    if (!flag->pattern) names.emplace_back(flag->name);
  }
  for (const auto& [spelling, match] : by_spelling_) {
    if (spelling != match.flag->name) names.push_back(spelling);
  }
  std::sort(names.begin(), names.end());
  return names;
}

const FlagTable& flag_table() {
  static const FlagTable table(all_groups());
  return table;
}

std::string option(const Flag& flag) {
  return "--" + std::string(flag.name);
}

}  // namespace hftrain::arguments

#include "hftrain/arguments/import/visible_gpus.h"

#include <optional>
#include <utility>
#include <vector>

#include "hftrain/arguments/other_machines.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

constexpr const char* kMaskVariable = "CUDA_VISIBLE_DEVICES";

// What --gpu_ids says; nothing where every GPU is meant.
std::optional<std::string> chosen_ids(const ParseOutcome& outcome) {
  const auto found = outcome.unread.find("gpu_ids");
  if (found == outcome.unread.end() || !found->second.is_string() || found->second == "all")
    return std::nullopt;
  return found->second.get<std::string>();
}

std::optional<std::string> exported_mask(const ParseOutcome& outcome) {
  const auto found = outcome.exported_environment.find(kMaskVariable);
  return found == outcome.exported_environment.end() ? std::nullopt : std::optional(found->second);
}

// What a list of numbers leaves of a mask, or the first part of it that is no GPU.
struct MaskChoice {
  std::vector<std::string> gpus;
  std::optional<std::string> none;
};
MaskChoice choose_from(const std::optional<std::string>& mask, const std::string& ids) {
  const std::vector<std::string> visible = split(mask.value_or(""), ',');
  MaskChoice choice;
  for (const std::string& part : split(ids, ',')) {
    const std::string id = trim(part);
    const bool number =
        !id.empty() && id.size() < 5 && id.find_first_not_of("0123456789") == std::string::npos;
    const size_t position = number ? std::stoul(id) : visible.size();
    if (!number || (mask && position >= visible.size())) {
      choice.none = id;
      return choice;
    }
    choice.gpus.push_back(mask ? visible[position] : id);
  }
  return choice;
}

Diagnostic no_such_gpu(const std::string& id, const ParseOutcome& outcome, std::string why) {
  return {.what = "gpu_ids: there is no GPU '" + id + "'",
          .where = outcome.origins.describe("gpu_ids"),
          .why = std::move(why),
          .hint = "numbers joined by commas, or all"};
}

// Whether --gpu_ids chooses among what a host file leaves, on this machine (take_slots()) or on those that are started
// (each asks again there): the mask that is here says nothing of it.
bool chooses_from_hosts(const Environment& environment, const ParseOutcome& outcome) {
  const LaunchArguments& launch = outcome.arguments.launch;
  if (!outcome.origins.is_given("hostfile") || other_machines(outcome)) return false;
  if (!launch.no_ssh) return launch.launcher == "pdsh" && !environment.get("HFTRAIN_HOSTED");
  const bool read = !outcome.origins.is_given("deepspeed_multinode_launcher");
  return read && (!launch.include.empty() || !launch.exclude.empty());
}

// It hides every GPU: that there is none to choose from is told with what the machine has (plan/).
bool hides_all(const std::optional<std::string>& mask) {
  return mask && (trim(*mask).empty() || trim(*mask).front() == '-');
}

void tell_positions(const std::string& mask, const std::string& chosen, ParseOutcome& outcome) {
  outcome.notes.push_back(
      {.severity = Diagnostic::Severity::kNote,
       .what = "gpu_ids are positions in " + std::string(kMaskVariable) + '=' + mask + " of the environment",
       .where = outcome.origins.describe("gpu_ids"),
       .why = "the run sees " + chosen,
       .hint = ""});
}

void tell_replaced(const std::string& mask, const std::string& place, const std::string& why,
                   const std::string& hint, ParseOutcome& outcome) {
  outcome.notes.push_back({.severity = Diagnostic::Severity::kWarning,
                           .what = kMaskVariable + ('=' + mask) + " is not used",
                           .where = place,
                           .why = why,
                           .hint = hint});
}

constexpr const char* kFilesMask = "env: of a configuration file";

// A mask of a file's `env:` gives way to the GPUs that were chosen; --print_config writes it as what was chosen.
void export_choice(const std::string& ids, const std::string& chosen, ParseOutcome& outcome) {
  const std::optional<std::string> before = exported_mask(outcome);
  if (before && *before != chosen)
    tell_replaced(*before, kFilesMask, "gpu_ids " + ids + " chooses the GPUs", "keep one of them", outcome);
  outcome.exported_environment[kMaskVariable] = chosen;
}

void choose_here(const std::string& ids, const Environment& environment, ParseOutcome& outcome,
                 Diagnostics& unrunnable) {
  const std::optional<std::string> mask = environment.get(kMaskVariable);
  if (hides_all(mask)) return;
  const MaskChoice choice = choose_from(mask, ids);
  if (choice.none) {
    unrunnable.push_back(no_such_gpu(*choice.none, outcome,
                                     mask ? kMaskVariable + ('=' + *mask) + " is in the environment"
                                          : "GPUs are named by their numbers, from 0"));
    return;
  }
  const std::string chosen = join(choice.gpus, ",");
  if (mask) tell_positions(*mask, chosen, outcome);
  export_choice(ids, chosen, outcome);
}

// What is no number is wrong on every machine; which numbers there are the machine says that has them. A check of this
// one alone (--smoke) takes what it has.
void choose_for_hosts(const std::string& ids, const Environment& environment, ParseOutcome& outcome,
                      Diagnostics& unrunnable) {
  const MaskChoice anywhere = choose_from(std::nullopt, ids);
  if (anywhere.none)
    unrunnable.push_back(no_such_gpu(*anywhere.none, outcome, "GPUs are named by their numbers, from 0"));
  const std::optional<std::string> mask = environment.get(kMaskVariable);
  if (outcome.arguments.launch.no_ssh || hides_all(mask)) return;
  const MaskChoice here = choose_from(mask, ids);
  if (!here.none) export_choice(ids, join(here.gpus, ","), outcome);
}

}  // namespace

void import_gpu_ids(const Environment& environment, ParseOutcome& outcome, Diagnostics& unrunnable) {
  const std::optional<std::string> ids = chosen_ids(outcome);
  if (!ids) return;
  if (outcome.arguments.device.use_cpu) {
    outcome.notes.push_back({.severity = Diagnostic::Severity::kNote,
                             .what = "gpu_ids has no effect",
                             .where = outcome.origins.describe("gpu_ids"),
                             .why = "the ranks run on the CPU",
                             .hint = ""});
    return;
  }
  if (chooses_from_hosts(environment, outcome))
    return choose_for_hosts(*ids, environment, outcome, unrunnable);
  choose_here(*ids, environment, outcome, unrunnable);
}

void take_slots(const std::optional<std::string>& slots, const Environment& environment,
                ParseOutcome& outcome) {
  const bool on_gpus = !outcome.arguments.device.use_cpu;
  const std::optional<std::string> ids = on_gpus ? chosen_ids(outcome) : std::nullopt;
  Diagnostics problems;
  if (slots) {
    const std::optional<std::string> exported = exported_mask(outcome);
    const std::optional<std::string> before = exported ? exported : environment.get(kMaskVariable);
    const std::string why = "the host file has the slots " + *slots + " for this machine";
    if (on_gpus && before && *before != *slots)
      tell_replaced(*before, exported ? kFilesMask : "environment", why,
                    "other slots in --include or --exclude", outcome);
    const MaskChoice choice = ids ? choose_from(*slots, *ids) : MaskChoice{{*slots}, std::nullopt};
    if (choice.none) problems.push_back(no_such_gpu(*choice.none, outcome, why));
    outcome.exported_environment[kMaskVariable] = join(choice.gpus, ",");
  } else if (ids && chooses_from_hosts(environment, outcome)) {
    choose_here(*ids, environment, outcome, problems);
  }
  if (!problems.empty()) throw InvalidArguments(std::move(problems), outcome);
}

}  // namespace hftrain::arguments

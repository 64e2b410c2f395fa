// An Accelerate file beside the other sources of values, which win over it.
#include <algorithm>
#include <array>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/import/accelerate.h"
#include "hftrain/arguments/import/accelerate_document.h"
#include "hftrain/arguments/import/launch.h"
#include "hftrain/arguments/section.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

// The flags of keys that only matter to several machines, also of those in sections.
constexpr std::array kOfSeveralMachines = {"main_process_ip",
                                           "rdzv_backend",
                                           "machine_rank",
                                           "same_network",
                                           "deepspeed_hostfile",
                                           "deepspeed_exclusion_filter",
                                           "deepspeed_inclusion_filter",
                                           "deepspeed_multinode_launcher",
                                           "mpirun_hostfile"};
// What `accelerate config` writes into files of one machine as well.
constexpr const char* kUsualOfOneMachine[][2] = {{"rdzv_backend", "static"},
                                                 {"machine_rank", "0"},
                                                 {"same_network", "true"},
                                                 {"same_network", "false"},
                                                 {"deepspeed_multinode_launcher", "standard"}};
constexpr std::array kKinds = {"multi_gpu",     "tpu",      "tpu_cluster",
                               "use_deepspeed", "use_fsdp", "use_megatron_lm"};

bool is_on(const RawArgument& raw) {
  const Result<Json> value = convert(*raw.flag, raw.written, "");
  return std::holds_alternative<Json>(value) && std::get<Json>(value) == true;
}

bool means(const RawArgument& raw, std::string_view flag) {
  return raw.flag->name == flag || raw.flag->replaced_by.flag == flag;
}

// The last word on use_cpu, of the Accelerate file itself or of what wins over it.
bool runs_on_cpu(const std::vector<RawArgument>& raw) {
  const RawArgument* last = nullptr;
  for (const RawArgument& each : raw) {
    if (means(each, "use_cpu") && (last == nullptr || each.layer >= last->layer)) last = &each;
  }
  return last != nullptr && is_on(*last);
}

bool asks_for_one_rank(const std::vector<RawArgument>& raw) {
  return std::any_of(raw.begin(), raw.end(), [](const RawArgument& each) {
    return each.layer > kAccelerateLayer && means(each, "nproc_per_node") && each.written == "1";
  });
}

// Says how many ranks there are, or that the number follows from something else than the devices that are here.
bool settles_ranks(const RawArgument& raw) {
  if (means(raw, "nproc_per_node")) return true;
  if (raw.layer <= kAccelerateLayer) return false;
  return means(raw, "cpu_ranks") || means(raw, "hostfile") || means(raw, "machines") ||
         (means(raw, "smoke") && is_on(raw));
}

// Of the command line.
std::vector<std::string> chosen_kinds(const std::vector<RawArgument>& raw) {
  std::vector<std::string> kinds;
  for (const RawArgument& each : raw) {
    const std::string name(each.flag->name);
    if (each.layer == kCommandLineLayer && is_listed(kKinds, name) && is_on(each)) kinds.push_back(name);
  }
  return kinds;
}

// Its zero_stage or file would ask for DeepSpeed by itself.
void drop_deepspeed_section(std::vector<RawArgument>& raw, const std::string& kind, Diagnostics& notes) {
  const auto of_section = [](const RawArgument& each) {
    return each.layer == kAccelerateLayer && is_key_of_deepspeed_section(std::string(each.flag->name));
  };
  const auto first = std::find_if(raw.begin(), raw.end(), of_section);
  if (first == raw.end()) return;
  notes.push_back({.severity = Diagnostic::Severity::kWarning,
                   .what = "deepspeed_config has no effect",
                   .where = first->origin,
                   .why = "--" + kind + " wins over the file's distributed_type",
                   .hint = ""});
  std::erase_if(raw, of_section);
}

}  // namespace

void drop_other_kinds(std::vector<RawArgument>& raw, Diagnostics& notes) {
  if (runs_on_cpu(raw) || asks_for_one_rank(raw)) {
    std::erase_if(raw, [](const RawArgument& each) {
      return each.layer == kAccelerateLayer && each.flag->name == "multi_gpu";
    });
  }
  const std::vector<std::string> chosen = chosen_kinds(raw);
  if (chosen.empty()) return;
  if (std::find(chosen.begin(), chosen.end(), "use_deepspeed") == chosen.end())
    drop_deepspeed_section(raw, chosen.front(), notes);
  std::erase_if(raw, [](const RawArgument& each) {
    return each.layer == kAccelerateLayer && is_listed(kKinds, std::string(each.flag->name));
  });
}

void drop_keys_of_several_machines(std::vector<RawArgument>& raw, Diagnostics& notes) {
  const bool by_hosts = std::any_of(raw.begin(), raw.end(), [](const RawArgument& each) {
    return each.layer == kCommandLineLayer &&
           (each.flag->name == "hostfile" || each.flag->replaced_by.flag == "hostfile");
  });
  if (by_hosts || asked_machines(raw) != 1) return;  // a host file counts the machines itself
  std::erase_if(raw, [&](const RawArgument& each) {
    const std::string name(each.flag->name);
    const std::string written = each.written.is_string() ? to_lower(each.written.get<std::string>()) : "";
    if (each.layer != kAccelerateLayer || !is_listed(kOfSeveralMachines, name)) return false;
    const bool usual = std::any_of(std::begin(kUsualOfOneMachine), std::end(kUsualOfOneMachine),
                                   [&](const auto& pair) { return name == pair[0] && written == pair[1]; });
    if (usual) return true;
    if (name == "machine_rank") return false;  // refused where ranks of machines are
    notes.push_back({.severity = Diagnostic::Severity::kWarning,
                     .what = each.spelling + " has no effect",
                     .where = each.origin,
                     .why = "num_machines is 1",
                     .hint = ""});
    return true;
  });
}

void settle_open_ranks(std::vector<RawArgument>& raw, bool ranks_are_started, Diagnostics& unrunnable) {
  const auto open = std::find_if(raw.begin(), raw.end(), [&](const RawArgument& each) {
    return each.layer == kAccelerateLayer && means(each, "nproc_per_node") &&
           (each.written.is_null() || each.written.get<std::string>().starts_with('-') ||
            each.written == "0");
  });
  if (open == raw.end()) return;
  const RawArgument left_open = std::move(*open);
  raw.erase(open);
  if (ranks_are_started || std::any_of(raw.begin(), raw.end(), settles_ranks)) return;
  const std::string what = left_open.written.is_null()
                               ? "the Accelerate file has no num_processes, which"
                               : "num_processes " + left_open.written.get<std::string>();
  unrunnable.push_back({.what = what + " leaves the number of ranks to the command line",
                        .where = left_open.origin,
                        .why = "and none is given there",
                        .hint = "--num_processes N"});
}

void check_accelerate_agrees(const std::vector<RawArgument>& raw, const ParseOutcome& outcome,
                             Diagnostics& unrunnable) {
  for (const RawArgument& each : raw) {
    const std::string name(each.flag->replaced_by.flag.empty() ? each.flag->name
                                                               : each.flag->replaced_by.flag);
    const bool checked = name == "gradient_accumulation_steps" || name == "deepspeed";
    if (each.layer != kAccelerateLayer || !checked || outcome.origins.of(name) == each.origin) continue;
    // An empty one asks for nothing, and merge() has told of an invalid one.
    if (each.written == "") continue;
    if (std::holds_alternative<ValueError>(convert(*each.flag, each.written, ""))) continue;
    const auto unread = outcome.unread.find(name);
    const Json winner = unread != outcome.unread.end() ? unread->second
                                                       : flag_table().named(name).slot.get(outcome.arguments);
    const std::string written = each.written.get<std::string>(),
                      won = winner.is_string() ? winner.get<std::string>() : winner.dump();
    if (name == "deepspeed" ? same_section(each.written, winner) : written == won) continue;
    unrunnable.push_back({.what = each.spelling + " of the Accelerate file and " + name + " differ",
                          .where = each.origin + ", " + outcome.origins.describe(name),
                          .why = written + " against " + won,
                          .hint = "make them equal, or leave one of them out"});
  }
}

}  // namespace hftrain::arguments

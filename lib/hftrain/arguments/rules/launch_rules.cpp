// Words of launchers: ranks, logs, signals, cores, time.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/arguments/import/launch.h"
#include "hftrain/arguments/rules/conditions.h"
#include "hftrain/arguments/rules/rule_groups.h"
#include "hftrain/base/cpu_list.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::arguments {
namespace {

bool valid_tee(const std::string& text) {
  const auto stream = [](const std::string& word) {
    return word.size() == 1 && word[0] >= '0' && word[0] <= '3';
  };
  if (stream(text)) return true;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> pair = split(part, ':');
    const bool rank =
        pair.size() == 2 && !pair[0].empty() && pair[0].find_first_not_of("0123456789") == std::string::npos;
    if (!rank || !stream(pair[1])) return false;
  }
  return true;
}

bool valid_ranks(const std::string& text) {
  if (text == "all") return true;
  const std::vector<std::string> parts = split(text, ',');
  return std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    const std::optional<int> number = whole_number(trim(part));
    return number && *number >= 0;
  });
}

bool valid_signals(const std::string& text) {
  const std::vector<std::string> known = {"SIGTERM", "SIGINT",  "SIGHUP", "SIGQUIT",
                                          "SIGUSR1", "SIGUSR2", "SIGXCPU"};
  const std::vector<std::string> names = split(text, ',');
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(known.begin(), known.end(), trim(name)) != known.end();
  });
}

bool valid_cores(const std::string& text) {
  const auto cores = parse_cpu_list(text);
  return cores && !cores->empty();
}

const Rule kLaunchRules[] = {
    {"L7",
     Severity::kError,
     {"nproc_per_node"},
     [](Outcome o) {
       return o.arguments.launch.nproc_per_node && !says_rank_count(*o.arguments.launch.nproc_per_node);
     },
     "nproc_per_node '{nproc_per_node}' is not a number of ranks",
     "",
     "a number above 0, gpu, cpu or auto"},
    {"H6",
     Severity::kError,
     {"tee"},
     [](Outcome o) { return !valid_tee(o.arguments.launch.tee); },
     "tee '{tee}' names no streams",
     "",
     "0 none, 1 out, 2 err, 3 both, or per rank 0:3,1:1"},
    {"H8",
     Severity::kError,
     {"redirects"},
     [](Outcome o) { return !valid_tee(o.arguments.launch.redirects); },
     "redirects '{redirects}' names no streams",
     "",
     "0 none, 1 out, 2 err, 3 both, or per rank 0:3,1:1"},
    {"H7",
     Severity::kError,
     {"log_ranks"},
     [](Outcome o) { return !valid_ranks(o.arguments.launch.log_ranks); },
     "log_ranks '{log_ranks}' names no ranks",
     "",
     "numbers joined by commas, or all"},
    {"H9",
     Severity::kError,
     {"local_ranks_filter"},
     [](Outcome o) {
       const std::string& named = o.arguments.launch.local_ranks_filter;
       return !named.empty() && (named == "all" || !valid_ranks(named));
     },
     "local_ranks_filter '{local_ranks_filter}' names no local ranks",
     "",
     "numbers joined by commas"},
    {"H12",
     Severity::kError,
     {"signals_to_handle"},
     [](Outcome o) { return !valid_signals(o.arguments.launch.signals_to_handle); },
     "signals_to_handle '{signals_to_handle}' names a signal that cannot stop a run",
     "",
     "SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU, joined by commas"},
    {"H13",
     Severity::kError,
     {"max_time"},
     [](Outcome o) { return o.arguments.launch.max_time && !seconds_of(*o.arguments.launch.max_time); },
     "max_time '{max_time}' is no time",
     "",
     "minutes, hours:minutes:seconds, or days-hours, as for Slurm's --time"},
    {"H10",
     Severity::kError,
     {"bind_core_list"},
     [](Outcome o) {
       return o.arguments.launch.bind_core_list && !valid_cores(*o.arguments.launch.bind_core_list);
     },
     "bind_core_list '{bind_core_list}' names no cores",
     "",
     "numbers and ranges joined by commas, as 1,3-5,7"},
    {"H11",
     Severity::kError,
     {"bind_cores_to_rank", "numa_binding", "enable_cpu_affinity"},
     [](Outcome o) {
       const LaunchArguments& launch = o.arguments.launch;
       return launch.bind_cores_to_rank && (launch.numa_binding || launch.enable_cpu_affinity);
     },
     "ranks can be bound to cores in one way",
     "bind_cores_to_rank divides all cores, numa_binding and enable_cpu_affinity those near the GPU",
     "one of them"},
};

}  // namespace

std::span<const Rule> launch_rules() {
  return kLaunchRules;
}

}  // namespace hftrain::arguments

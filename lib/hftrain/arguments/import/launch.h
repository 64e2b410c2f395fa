// The spellings of torchrun, accelerate and deepspeed for "how many machines, which one is this, where is
// machine 0" become the members of LaunchArguments; what contradicts itself is refused (rules L6 to L10).
// What the environment of mpirun, srun or torchrun says is the launcher's matter (launcher/environments).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/arguments/raw_argument.h"
#include "hftrain/base/environment.h"

namespace hftrain::arguments {

// Before merge: how many machines the last word on nnodes asks for; 1 where it says no number.
int asked_machines(const std::vector<RawArgument>& raw);

// Before merge: whether torchrun, mpirun or srun has started this process as one of a machine's ranks, of which it knows how many
// there are.
bool is_started_as_rank(const Environment& environment, const std::vector<RawArgument>& raw);

// Before merge: num_processes counts the ranks of all machines and becomes those of one.
void divide_processes(std::vector<RawArgument>& raw, Diagnostics& problems);

// After merge. Fills members of outcome.arguments.launch and outcome.exported_environment.
void import_machines(const Environment& environment, ParseOutcome& outcome, Diagnostics& problems);

// "2" and "2:2" are 2; nothing for another text, "1:2" among them.
std::optional<int> machines_of(std::string_view nnodes);

// Whether it can stand for nproc_per_node: auto, cpu, gpu, or a number from 1 to 99999.
bool says_rank_count(std::string_view nproc_per_node);

// rdzv_conf, checked by import_machines: option -> seconds.
std::map<std::string, double> rendezvous_options(std::string_view rdzv_conf);
// secret_file of rdzv_conf: a path.
std::optional<std::string> secret_file(std::string_view rdzv_conf);

// Seconds of max_time, written as for Slurm's --time: minutes, minutes:seconds, hours:minutes:seconds,
// days-hours, days-hours:minutes or days-hours:minutes:seconds. Nothing for another text.
std::optional<double> seconds_of(const std::string& time);

}  // namespace hftrain::arguments

// An Accelerate configuration file as values of flags, held to accelerate 1.15: its
// keys are flags of `accelerate launch`, most of which are old or other names of hftrain's own.
#pragma once

#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/arguments/raw_argument.h"
#include "hftrain/arguments/section.h"

namespace hftrain::arguments {

// The values of `file`, at the layer below all other configuration files. Unknown keys and what only another
// launcher can do are in `problems`, keys without effect in `notes`.
std::vector<RawArgument> accelerate_flags(const Section& file, Diagnostics& problems, Diagnostics& notes);

// accelerate_sections.cpp
// Of deepspeed_config in an Accelerate file.
bool is_key_of_deepspeed_section(const std::string& key);

// Rule D4: whether a key of an Accelerate file, in its deepspeed_config or mixed_precision, cannot stand
// beside a deepspeed_config_file.
bool excluded_beside_deepspeed_file(const std::string& key);

// accelerate_layers.cpp
// The kind of run on the command line (--use_fsdp, …) wins over the file's distributed_type and its
// deepspeed_config.
void drop_other_kinds(std::vector<RawArgument>& raw, Diagnostics& notes);

// With one machine, whoever says so, the file's keys about several are passed over, which is told unless they
// are what `accelerate config` writes anyway.
void drop_keys_of_several_machines(std::vector<RawArgument>& raw, Diagnostics& notes);

// An Accelerate file may leave num_processes to the command line, by -1 or by not naming it, which is the same
// to accelerate launch. With nothing there, either, the configuration cannot run, but where a launcher has started the ranks,
// a host file or --machines counts them, or --smoke chooses them.
void settle_open_ranks(std::vector<RawArgument>& raw, bool ranks_are_started, Diagnostics& unrunnable);

// What must agree although a later layer would win: accumulation steps (rule D1) and the DeepSpeed file (D6).
// `given` is what merge has seen.
void check_accelerate_agrees(const std::vector<RawArgument>& raw, const ParseOutcome& outcome,
                             Diagnostics& unrunnable);

// launch_kind.cpp
// --multi_gpu, and --mixed_precision, which stands for other flags.
void import_launch(ParseOutcome& outcome, Diagnostics& unrunnable);

}  // namespace hftrain::arguments

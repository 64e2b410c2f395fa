// Variables of the environment as values of flags: those of transformers, torchrun's PET_*, and those by
// which `accelerate launch` tells its workers what they are (docs/environment.md). FSDP_* are read by import/fsdp.h, which knows what they fill in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/arguments/raw_argument.h"
#include "hftrain/base/environment.h"

namespace hftrain::arguments {

// What the variables give, below every file. `notes` names accelerate's variables that do not count, because
// neither ACCELERATE_USE_FSDP nor ACCELERATE_USE_DEEPSPEED says that there is such a run. What this build
// cannot do is in `problems`.
std::vector<RawArgument> flags_of_environment(const Environment& environment, Diagnostics& notes,
                                              Diagnostics& problems);

// After merge: tells of each variable whose value counts.
void note_used_variables(const Environment& environment, const std::vector<RawArgument>& raw,
                         ParseOutcome& outcome);

// What says the same as a variable that only counts in the environment that hftrain itself is started in; ""
// for one that nothing stands for, nothing for any other variable.
std::optional<std::string> instead_of_variable(const std::string& name);
// Whether it has a say in what a flag is: every machine of a job needs it.
bool counts_for_flags(const std::string& name);
// Whether what starts a rank sets it, whatever it was.
bool is_of_each_rank(const std::string& name);

}  // namespace hftrain::arguments

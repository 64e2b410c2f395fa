// --machines: a plan for machines that are not this one.
#pragma once

#include <optional>
#include <string>

#include "hftrain/arguments/parse.h"
#include "hftrain/base/environment.h"

namespace hftrain::arguments {

// What --machines says; nothing without it. With "list" nothing else was read.
std::optional<std::string> other_machines(const ParseOutcome& parsed);

// For what starts or prepares something here: an Error (kUsage) where --machines was given.
void require_this_machine(const ParseOutcome& parsed);

// The environment without what it says of this machine and of the launcher that started this process.
Environment of_other_machines(const Environment& environment);

}  // namespace hftrain::arguments

// What a command answers where one launcher has started several of it: once, for what all say would be one text.
#pragma once

#include "hftrain/arguments/parse.h"
#include "launcher/front/command_context.h"

namespace hftrain::front {

// Whether this is the process that answers: the first of those that one launcher has started, or one that none has.
bool answers_for_job(const arguments::ParseOutcome& parsed, const Environment& environment);

// An error that all processes of a machine see alike: the first of them throws it, the others end with its code in silence. One whose
// first process was given other words, or sees nothing wrong, throws it with its rank, and one that is told to stand alone whatever
// the environment says.
ExitCode refuse_once(const Error& error, const CommandContext& context);

// --print_config, which `parsed` has asked for.
ExitCode answer_print_config(const arguments::ParseOutcome& parsed, const CommandContext& context);

}  // namespace hftrain::front

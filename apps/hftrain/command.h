// The table of commands. A command is one file in commands/; it parses its own arguments, calls the library and returns an exit code. Errors are thrown;
// main() reports them.
#pragma once

#include <span>
#include <string>

#include "hftrain/base/exit_code.h"
#include "launcher/front/command_context.h"

namespace hftrain::app {

using front::CommandContext;

// Whether a command reads flags of runs, those of the flag table.
enum class RunFlags {
  kNone,
  kBeside,  // its own words, too
  kAlone,   // then one file behind the name is its --config
};

struct Command {
  const char* name;
  const char* summary;  // one line for `hftrain --help`
  ExitCode (*run)(const CommandContext&);
  RunFlags run_flags = RunFlags::kNone;
};

// Every command that people type, in the order of `hftrain --help`; "train" is also what runs when no command is named.
std::span<const Command> commands();
// By its name; what programs alone call, too. Null: there is none.
const Command* find_command(const std::string& name);

}  // namespace hftrain::app

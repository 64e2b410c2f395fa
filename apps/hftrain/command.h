// What every command of the front program is given, and the table of commands. A command is one file in
// commands/; it parses its own arguments, calls the library and returns an exit code. Errors are thrown;
// main() reports them.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "hftrain/base/environment.h"
#include "hftrain/base/exit_code.h"

namespace hftrain::app {

struct CommandContext {
  std::vector<std::string> arguments;  // after the command's name
  Environment environment;
  std::string program;  // absolute path of this executable: hftrain-worker lies beside it
  std::ostream& out;    // results
  std::ostream& err;    // everything else
  bool out_is_terminal = false;
  bool err_is_terminal = false;
};

struct Command {
  const char* name;
  const char* summary;  // one line for `hftrain --help`
  ExitCode (*run)(const CommandContext&);
};

// Every command, in the order of `hftrain --help`; "train" is also what runs when no command is named.
std::span<const Command> commands();

}  // namespace hftrain::app

// hftrain completion bash|zsh|fish: a script that the shell reads.
#include <ostream>

#include "command.h"
#include "command_summaries.h"
#include "hftrain/arguments/documentation.h"
#include "hftrain/base/error.h"

namespace hftrain::app {

ExitCode run_completion(const CommandContext& context) {
  const std::string shell = context.arguments.size() == 1 ? context.arguments.front() : "";
  if (shell == "--help" || shell == "-h") {
    context.out << "usage: hftrain completion bash|zsh|fish\n"
                   "For bash: source <(hftrain completion bash)\n";
    return ExitCode::kDone;
  }
  if (shell.empty()) {
    throw Error(ExitCode::kUsage, "completion needs the name of one shell").hint("bash, zsh or fish");
  }
  context.out << arguments::completion_script(shell, command_summaries());
  return ExitCode::kDone;
}

}  // namespace hftrain::app

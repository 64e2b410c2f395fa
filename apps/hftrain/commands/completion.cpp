// hftrain completion bash|zsh|fish: a script that the shell reads.
#include <ostream>

#include "command.h"
#include "command_options.h"
#include "command_summaries.h"
#include "hftrain/arguments/documentation.h"

namespace hftrain::app {

ExitCode run_completion(const CommandContext& context) {
  std::string shell;
  CommandOptions options("hftrain completion", "Print a completion script for a shell",
                         "For bash: source <(hftrain completion bash)");
  options.text("SHELL", shell, "SHELL", "bash, zsh or fish", CommandOptions::Need::kRequired);
  if (!options.read(context.arguments, context)) return ExitCode::kDone;
  context.out << arguments::completion_script(shell, command_summaries());
  return ExitCode::kDone;
}

}  // namespace hftrain::app

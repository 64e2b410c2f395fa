// hftrain hosted: the other end of `hftrain --hostfile`, called by it through the remote shell.
#include <unistd.h>

#include <ostream>

#include "command.h"
#include "command_options.h"
#include "launcher/ssh/host_job.h"

namespace hftrain::app {

ExitCode run_hosted(const CommandContext& context) {
  const CommandOptions options("hftrain hosted",
                               "Started by `hftrain --hostfile FILE` on the other machines: reads what to "
                               "start as one line of JSON on its "
                               "standard input, passes on output, signals and exit code, and ends the run of "
                               "its machine when the input "
                               "ends. docs/launcher.md describes it");
  if (!options.read(context.arguments, context)) return ExitCode::kDone;
  return launcher::run_hosted(context.program, context.environment, STDIN_FILENO, STDOUT_FILENO,
                              STDERR_FILENO);
}

}  // namespace hftrain::app

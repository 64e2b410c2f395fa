// hftrain hosted: the other end of `hftrain --hostfile`, called by it through the remote shell.
#include <unistd.h>

#include <ostream>

#include "command.h"
#include "hftrain/base/error.h"
#include "launcher/hosts/host_job.h"

namespace hftrain::app {

ExitCode run_hosted(const CommandContext& context) {
  if (!context.arguments.empty()) {
    context.out
        << "usage: hftrain hosted\n"
           "started by `hftrain --hostfile FILE` on the other machines; reads what to start as one line of\n"
           "JSON on its standard input, passes on output, signals and exit code, and ends the run of its\n"
           "machine when the input ends. docs/launcher.md describes it.\n";
    return context.arguments.front() == "--help" || context.arguments.front() == "-h" ? ExitCode::kDone
                                                                                      : ExitCode::kUsage;
  }
  return launcher::run_hosted(context.program, context.environment, STDIN_FILENO, STDOUT_FILENO,
                              STDERR_FILENO);
}

}  // namespace hftrain::app

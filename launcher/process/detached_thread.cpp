#include "launcher/process/detached_thread.h"

#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::launcher {

void start_detached_thread(std::function<void()> run, const std::string& purpose) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(std::move(run)).detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  } catch (const std::system_error& error) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw Error(ExitCode::kEnvironment, "cannot start a thread that " + purpose)
        .where("this machine's limits")
        .why(error.what())
        .hint("ulimit -u, pids of a container or a job");
  }
}

}  // namespace hftrain::launcher

#include "hftrain/trainer/stop_request.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>

#include "hftrain/base/exit_code.h"

namespace hftrain::trainer {
namespace {

// Signal handlers have nowhere else to write to.
std::atomic<int> g_seen{0};

void on_signal(int number) {
  const int kind = static_cast<int>(number == SIGINT ? StopSignal::kInterrupt : StopSignal::kTerminate);
  int none = 0;
  if (!g_seen.compare_exchange_strong(none, kind)) ::_exit(static_cast<int>(ExitCode::kTerminatedUnsaved));
}

}  // namespace

void StopRequest::install_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGINT}) ::sigaction(number, &action, nullptr);
  // Writing says what is wrong: to a pipe without a reader, beyond the limit on the size of files.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

StopSignal StopRequest::seen() noexcept {
  return static_cast<StopSignal>(g_seen.load());
}

}  // namespace hftrain::trainer

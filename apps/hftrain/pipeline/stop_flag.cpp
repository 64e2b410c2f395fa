#include "pipeline/stop_flag.h"

#include <unistd.h>

#include "hftrain/base/exit_code.h"

namespace hftrain::app {
namespace {

// A handler has nowhere else to write to.
std::atomic<bool> g_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) {
  if (g_stop.exchange(true)) ::_exit(static_cast<int>(ExitCode::kTerminatedUnsaved));
}

}  // namespace

StopFlag::StopFlag() {
  g_stop = false;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &previous_[i]);
}

StopFlag::~StopFlag() {
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &previous_[i], nullptr);
}

const std::atomic<bool>& StopFlag::is_set() const noexcept {
  return g_stop;
}

}  // namespace hftrain::app

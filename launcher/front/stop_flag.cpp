#include "launcher/front/stop_flag.h"

#include <poll.h>
#include <unistd.h>

#include "hftrain/base/clock.h"
#include "hftrain/base/exit_code.h"
#include "launcher/supervision/stop_wishes.h"

namespace hftrain::front {
namespace {

// A handler has nowhere else to write to.
std::atomic<bool> g_stop{false};
std::atomic<int> g_signal{0};        // the first one, which decides the exit code
std::atomic<double> g_stop_time{0};  // of monotonic_seconds()
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<double>::is_always_lock_free);

void on_signal(int signal) {
  const double now = monotonic_seconds();
  const bool same_wish = launcher::is_same_wish(signal, now - g_stop_time);
  if (!g_stop) {
    g_stop_time = now;
    g_signal = signal;
  }
  if (g_stop.exchange(true) && !same_wish) ::_exit(static_cast<int>(ExitCode::kTerminatedUnsaved));
}

void leave(int) {
  constexpr char kText[] = "stopped before anything was started\n";
  pollfd terminal{STDERR_FILENO, POLLOUT, 0};
  // One that takes no text would hold up the end, and every further signal.
  if (::poll(&terminal, 1, 0) > 0) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText, sizeof(kText) - 1);
  }
  ::_exit(static_cast<int>(ExitCode::kTerminatedUnsaved));
}

PreviousActions install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  PreviousActions previous{};
  for (size_t i = 0; i < kStopSignals.size(); ++i) {
    ::sigaction(kStopSignals[i], nullptr, &previous[i]);
    if (kStopSignals[i] == SIGHUP && previous[i].sa_handler == SIG_IGN) continue;  // nohup
    ::sigaction(kStopSignals[i], &action, nullptr);
  }
  return previous;
}

void restore(const PreviousActions& previous) {
  for (size_t i = 0; i < kStopSignals.size(); ++i) ::sigaction(kStopSignals[i], &previous[i], nullptr);
}

}  // namespace

StopFlag::StopFlag() {
  g_stop = false;
  g_signal = 0;
  previous_ = install(on_signal);
}

StopFlag::~StopFlag() {
  restore(previous_);
}

const std::atomic<bool>& StopFlag::is_set() const noexcept {
  return g_stop;
}

int first_stop_signal() noexcept {
  return g_signal;
}

LeaveOnStop::LeaveOnStop() : previous_(install(leave)) {}

LeaveOnStop::~LeaveOnStop() {
  restore(previous_);
}

}  // namespace hftrain::front

#include "hftrain/trainer/stop_request.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>

#include "hftrain/base/exit_code.h"

namespace hftrain::trainer {
namespace {

// Signal handlers have nowhere else to write to.
std::atomic<int> g_seen{0};
std::atomic<bool> g_parent_has_asked{false};
std::atomic<int> g_stranger{0}, g_strangers_signal{0};
std::atomic<int64_t> g_others_asked_at{0};  // first, in monotonic nanoseconds; 0: they have not

int64_t monotonic_nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Whether whoever sent it had asked before.
bool is_second_wish(bool by_parent) {
  if (by_parent) return g_parent_has_asked.exchange(true);
  const int64_t now = monotonic_nanoseconds();
  int64_t first = 0;  // stays: who asks again and again does not put his second wish off
  if (g_others_asked_at.compare_exchange_strong(first, now)) return false;
  return now - first >= int64_t{StopRequest::kOneWishSeconds} * 1'000'000'000;
}

void on_signal(int number, siginfo_t* info, void*) {
  const int kind = static_cast<int>(number == SIGINT ? StopSignal::kInterrupt : StopSignal::kTerminate);
  int none = 0;
  const bool by_parent = info->si_pid == ::getppid();
  if (g_seen.compare_exchange_strong(none, kind) && !by_parent) {
    g_stranger = info->si_pid;
    g_strangers_signal = number;
  }
  // The kernel sends it again with every second of processor time: never a second wish.
  if (number == SIGXCPU) return;
  // The launcher may have asked long before, for reasons of its own: at the time limit a scheduler then
  // signals every process of the job, which is its first wish and not a second one.
  if (is_second_wish(by_parent)) ::_exit(static_cast<int>(ExitCode::kTerminatedUnsaved));
}

}  // namespace

void StopRequest::install_handlers() {
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGXCPU, SIGINT})
    ::sigaction(number, &action, nullptr);
  // Writing says what is wrong: to a pipe without a reader, beyond the limit on the size of files.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

StopSignal StopRequest::seen() noexcept {
  return static_cast<StopSignal>(g_seen.load());
}

StopRequest::Stranger StopRequest::stranger() noexcept {
  if (g_parent_has_asked) return {};
  const int signal = g_strangers_signal;
  return {g_stranger, signal};
}

}  // namespace hftrain::trainer

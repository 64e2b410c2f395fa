#include "launcher/supervision/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::launcher {
namespace {

constexpr int kStops[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU};

bool is_ignored(int number) {
  struct sigaction action {};
  ::sigaction(number, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

sigset_t set_of(const std::vector<std::string>& names) {
  sigset_t stops;
  sigemptyset(&stops);
  for (const int number : kStops) {
    const std::string name = std::string("SIG") + ::sigabbrev_np(number);
    const bool named = std::any_of(names.begin(), names.end(),
                                   [&](const std::string& padded) { return trim(padded) == name; });
    const bool announces = number == SIGUSR1 || number == SIGUSR2 || number == SIGXCPU;
    if (announces || (named && !(number == SIGHUP && is_ignored(number)))) sigaddset(&stops, number);
  }
  return stops;
}

}  // namespace

bool is_stop_signal(int number) {
  return std::find(std::begin(kStops), std::end(kStops), number) != std::end(kStops);
}

StopSignals::StopSignals(const std::string& names) {
  const sigset_t stops = set_of(split(names, ','));
  ::pthread_sigmask(SIG_BLOCK, &stops, &previous_);
  for (const int number : kStops) {
    if (sigismember(&stops, number) == 1 && sigismember(&previous_, number) == 1) outermost_ = false;
  }
  for (const int number : kStops) {
    if (sigismember(&stops, number) == 1 || is_ignored(number)) continue;
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;
    ::sigaction(number, &by_default, &unnamed_[number]);
  }
  descriptor_.reset(::signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_) throw system_error(errno, "cannot watch signals", "signalfd");
}

StopSignals::~StopSignals() {
  if (outermost_) {
    while (next() != 0) {
    }
  }
  for (const auto& [number, action] : unnamed_) ::sigaction(number, &action, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

int StopSignals::next() {
  signalfd_siginfo info{};
  if (::read(descriptor_.get(), &info, sizeof(info)) != sizeof(info)) return 0;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace hftrain::launcher

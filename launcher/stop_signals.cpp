#include "launcher/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "hftrain/base/error.h"

namespace hftrain::launcher {

StopSignals::StopSignals() {
  sigset_t stops;
  sigemptyset(&stops);
  for (const int number : {SIGTERM, SIGUSR1, SIGUSR2, SIGINT}) sigaddset(&stops, number);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&stops, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &stops, &previous_);
  descriptor_.reset(::signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_) throw system_error(errno, "cannot watch signals", "signalfd");
}

StopSignals::~StopSignals() {
  if (sigismember(&previous_, SIGTERM) == 0) {
    while (next() != 0) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

int StopSignals::next() {
  signalfd_siginfo info{};
  if (::read(descriptor_.get(), &info, sizeof(info)) != sizeof(info)) return 0;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace hftrain::launcher

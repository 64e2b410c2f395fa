#include "launcher/environments/parent_watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "hftrain/base/error.h"
#include "launcher/process/child_process.h"

namespace hftrain::launcher {
namespace {

// Blocks all signals while it lives; a thread that is started meanwhile never takes one.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &previous_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t previous_;
};

}  // namespace

bool has_launcher_for_parent(const Membership& membership) {
  // Elsewhere variables may have been exported by a shell that is left again.
  return !membership.variables.empty() &&
         (membership.started_by == "mpirun" || membership.started_by == "srun" ||
          membership.started_by == "torchrun");
}

ParentWatch::ParentWatch() : stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (!stop_) throw system_error(errno, "cannot watch the process that started this one", "eventfd");
  const pid_t parent = ::getppid();
  if (parent == 0) return;
  try {
    parent_ = open_process(parent);
  } catch (const Error&) {
    if (::getppid() == parent) throw;
  }
  // When it has ended, its number may have been given to another process: then this one is not its child.
  was_gone_ = ::getppid() != parent;
  if (was_gone_) {
    ::kill(::getpid(), SIGTERM);
    return;
  }
  const NoSignals none;
  thread_ = std::thread([this] { watch(); });
}

ParentWatch::~ParentWatch() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

bool ParentWatch::parent_is_gone() const {
  if (!thread_.joinable()) return was_gone_;
  pollfd parent{parent_.get(), POLLIN, 0};
  return ::poll(&parent, 1, 0) > 0;
}

void ParentWatch::watch() const {
  pollfd watched[2] = {{parent_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  int ready = 0;
  while ((ready = ::poll(watched, 2, -1)) < 0 && (errno == EINTR || errno == EAGAIN)) {
  }
  if (ready > 0 && watched[0].revents != 0 && watched[1].revents == 0) ::kill(::getpid(), SIGTERM);
}

}  // namespace hftrain::launcher

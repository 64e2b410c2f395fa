#include "launcher/control/background_work.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::launcher {

BackgroundWork::BackgroundWork(Work work) : done_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!done_) throw system_error(errno, "cannot watch a thread", "eventfd");
  thread_ = std::thread([this, work = std::move(work)] {
    try {
      work(stop_);
    } catch (...) {
      failure_ = std::current_exception();
    }
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(done_.get(), &one, sizeof(one));
  });
}

BackgroundWork::~BackgroundWork() {
  ask_to_stop();
  if (thread_.joinable()) thread_.join();
}

bool BackgroundWork::over() const {
  pollfd done{done_.get(), POLLIN, 0};
  return ::poll(&done, 1, 0) > 0;
}

void BackgroundWork::finish() {
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace hftrain::launcher

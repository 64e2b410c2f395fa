#include "hftrain/checkpoint/background_task.h"

#include <signal.h>
#include <sys/resource.h>

#include <utility>

namespace hftrain::checkpoint {
namespace {

constexpr int kLowestPriority = 19;

// A handler that ran here would not interrupt what the training thread waits for.
void leave_stop_signals_to_others() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGXCPU, SIGINT}) sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

BackgroundTask::~BackgroundTask() {
  if (thread_.joinable()) thread_.join();
}

void BackgroundTask::start(Priority priority, std::function<void()> work) {
  wait();
  auto run = [this, priority, work = std::move(work)] {
    leave_stop_signals_to_others();
    // On Linux: of this thread alone, and of those it starts.
    if (priority == Priority::kLow) ::setpriority(PRIO_PROCESS, 0, kLowestPriority);
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
    }
    running_ = false;
  };
  running_ = true;
  try {
    thread_ = std::thread(std::move(run));
  } catch (...) {
    running_ = false;
    throw;
  }
}

void BackgroundTask::wait() {
  if (thread_.joinable()) thread_.join();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace hftrain::checkpoint

// One piece of work at a time on a thread of its own.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>

namespace hftrain::checkpoint {

// Owned and called by one thread; the work runs on another and must only touch what is left alone meanwhile.
class BackgroundTask {
 public:
  BackgroundTask() = default;
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;
  ~BackgroundTask();  // waits; what the work throws is lost

  // kLow gives way to everything else: on a machine whose cores are all busy it gets what is left over.
  enum class Priority { kNormal, kLow };

  // After the last work, whose failure it throws. std::system_error when the system starts no thread: nothing runs then.
  void start(Priority priority, std::function<void()> work);
  bool running() const noexcept { return running_; }
  // Until the work is done, if there is any. Throws what it threw.
  void wait();

 private:
  std::thread thread_;
  std::atomic<bool> running_ = false;
  std::exception_ptr failure_;  // written before running_ becomes false
};

}  // namespace hftrain::checkpoint

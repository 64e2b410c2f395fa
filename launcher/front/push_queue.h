// Work that is done one after another in a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace hftrain::front {

class PushQueue {
 public:
  PushQueue() : thread_([this] { run(); }) {}
  PushQueue(const PushQueue&) = delete;
  PushQueue& operator=(const PushQueue&) = delete;
  // Waits for the work that is being done; what has not begun is dropped.
  ~PushQueue();

  // `work` throws nothing.
  void add(std::function<void()> work);
  // Until all that was added is done.
  void wait();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable more_, idle_;
  std::deque<std::function<void()>> waiting_;
  bool over_ = false, works_ = false;
  std::thread thread_;  // uses the above
};

}  // namespace hftrain::front

#include "launcher/front/push_queue.h"

#include <utility>

namespace hftrain::front {

PushQueue::~PushQueue() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  more_.notify_all();
  thread_.join();
}

void PushQueue::add(std::function<void()> work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  more_.notify_all();
}

void PushQueue::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  idle_.wait(lock, [this] { return !works_ && waiting_.empty(); });
}

void PushQueue::run() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      more_.wait(lock, [this] { return over_ || !waiting_.empty(); });
      if (over_) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
      works_ = true;
    }
    work();
    const std::lock_guard<std::mutex> lock(mutex_);
    works_ = false;
    idle_.notify_all();
  }
}

}  // namespace hftrain::front

#include "hftrain/trainer/loader_threads.h"

#include <system_error>

#include "hftrain/runtime/thread_device.h"

namespace hftrain::trainer {

LoaderThreads::~LoaderThreads() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.clear();
    over_ = true;
  }
  more_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void LoaderThreads::push(std::function<void()> work) {
  size_t wanted = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(work));
    wanted = working_ + waiting_.size();
  }
  more_.notify_one();
  try {
    if (threads_.size() < std::min(wanted, most_)) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    if (!threads_.empty()) return;
    waiting_.clear();
    throw;
  }
}

void LoaderThreads::clear() {
  std::unique_lock<std::mutex> lock(mutex_);
  waiting_.clear();
  settled_.wait(lock, [this] { return working_ == 0; });
}

void LoaderThreads::run() {
  runtime::work_for(device_);
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    if (over_) return;
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    ++working_;
    lock.unlock();
    work();
    work = nullptr;  // what it holds goes before anybody hears that it is over
    lock.lock();
    --working_;
    settled_.notify_all();
  }
}

}  // namespace hftrain::trainer

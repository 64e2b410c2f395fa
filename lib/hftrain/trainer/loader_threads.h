// Threads that make batches ahead of the training, begun in the order in which they are asked for.
#pragma once

#include <c10/core/Device.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace hftrain::trainer {

// Used by one thread. At most as many threads as are allowed, or as the system starts; without one, std::system_error. They make batches
// for `device`, in memory of the host.
class LoaderThreads {
 public:
  explicit LoaderThreads(int64_t most, c10::Device device = c10::DeviceType::CPU)
      : most_(static_cast<size_t>(std::max<int64_t>(most, 1))), device_(device) {}
  LoaderThreads(const LoaderThreads&) = delete;
  LoaderThreads& operator=(const LoaderThreads&) = delete;
  // As clear().
  ~LoaderThreads();

  // The future has what `work` gives or throws; it waits for nothing when it goes.
  template <typename Work>
  std::future<std::invoke_result_t<Work>> add(Work work) {
    auto task = std::make_shared<std::packaged_task<std::invoke_result_t<Work>()>>(std::move(work));
    std::future<std::invoke_result_t<Work>> result = task->get_future();
    push([task] { (*task)(); });
    return result;
  }
  // Drops what has not begun, and waits for what has.
  void clear();

 private:
  void push(std::function<void()> work);
  void run();

  size_t most_;
  c10::Device device_;
  std::mutex mutex_;  // guards what follows, but for the threads
  std::condition_variable more_, settled_;
  std::deque<std::function<void()>> waiting_;
  size_t working_ = 0;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hftrain::trainer

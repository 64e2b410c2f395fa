// A thread that makes MPI calls, one task after the other in the order in which they are posted.
//
// All MPI calls of a group come from one of these. Where MPI grants only one calling thread to a process, all
// groups share the one that started MPI.
#pragma once

#include <c10/util/Exception.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace hftrain::comm {

class MpiThread {
 public:
  using Task = std::function<void()>;  // must not throw

  MpiThread();
  // Finishes what was posted; not when a call has outlived its patience, for then the thread is inside MPI
  // and stays there.
  ~MpiThread();
  MpiThread(const MpiThread&) = delete;
  MpiThread& operator=(const MpiThread&) = delete;

  // Any thread.
  void post(Task task);
  // Runs `callable` on the thread and returns what it returns or throws what it throws. For MPI calls that
  // block: c10::DistBackendError naming `what` when it has not returned after `patience`.
  template <typename Callable>
  auto call(const std::string& what, std::chrono::milliseconds patience, Callable callable) {
    using Result = decltype(callable());
    const auto task = std::make_shared<std::packaged_task<Result()>>(std::move(callable));
    std::future<Result> result = task->get_future();
    post([task] { (*task)(); });
    if (result.wait_for(patience) != std::future_status::ready) {
      stuck_ = true;
      TORCH_CHECK_WITH(DistBackendError, false, what, " did not return within ", patience.count(), " ms");
    }
    return result.get();
  }

 private:
  struct Queue;
  static void serve(Queue& queue);

  std::shared_ptr<Queue> queue_;  // shared with the thread, which may be left behind
  std::thread thread_;
  bool stuck_ = false;
};

}  // namespace hftrain::comm

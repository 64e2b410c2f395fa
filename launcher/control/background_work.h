// Work in a thread of its own, beside which the owner keeps its connections: the end of the work is a
// descriptor for poll().
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>

#include "hftrain/base/file.h"

namespace hftrain::launcher {

class BackgroundWork {
 public:
  using Work = std::function<void(const std::atomic<bool>& stop)>;

  // Starts at once. Error (kEnvironment) when the system has no descriptor left; std::system_error, which error_of()
  // knows, when it starts no thread.
  explicit BackgroundWork(Work work);
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;
  ~BackgroundWork();  // asks the work to stop and waits for it; what it throws is lost

  int descriptor() const noexcept { return done_.get(); }  // readable when the work is over
  bool over() const;
  // The work is for nothing any more.
  void ask_to_stop() noexcept { stop_ = true; }
  // Waits for its end and throws what it threw.
  void finish();

 private:
  FileDescriptor done_;
  std::atomic<bool> stop_{false};
  std::exception_ptr failure_;  // written before the thread ends
  std::thread thread_;          // uses the above
};

}  // namespace hftrain::launcher

// Deadlines for operations that nobody waits for on the host.
//
// On a GPU, waiting for an operation only orders it before what the stream does next: the host runs ahead, spins where it
// needs a number, and an operation that never ends is noticed by nobody. So a thread looks at them as the device comes to
// them, one after the other. What it sees goes to the worker's status page: an operation counts when the device has
// reached it, not when the host has issued it, so that ranks can be told apart.
#pragma once

#include <c10/core/Event.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "hftrain/base/status_page.h"

namespace hftrain::comm {

// One collective as the group counts them: the same on all ranks, since all issue the same ones in the same
// order.
struct Operation {
  std::string name;       // "all-reduce", …
  uint64_t sequence = 0;  // 1 for the first of the group
  int64_t bytes = 0;
};

// Why nothing is watched any more.
struct WatchFault {
  Operation operation;
  std::string why;
  std::exception_ptr
      device_error{};  // what the device threw when it was asked; null: the operation itself failed or is late
};

class WorkWatch {
 public:
  using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;
  // What is watched in a work's place until it is over.
  using StandIn = std::function<c10::intrusive_ptr<c10d::Work>(const c10::intrusive_ptr<c10d::Work>& work)>;
  using GiveUp = std::function<void(const WatchFault& fault)>;
  using AnotherGaveUp = std::function<bool()>;

  // An operation may take `deadline` from when `device` reached it. `give_up` is called at most once, on the watch's
  // thread, for the first that takes longer, fails or cannot be looked at; then nothing is looked at any more. So it is for
  // one that is not over when `another_gave_up` says so, which may be null; it is asked twice a second, from when an operation
  // has been the first for half of one, on that thread too, and does not throw. `status` may be null.
  WorkWatch(c10::Device device, std::chrono::milliseconds deadline, StatusPage* status, GiveUp give_up,
            AnotherGaveUp another_gave_up = {});
  ~WorkWatch();
  WorkWatch(const WorkWatch&) = delete;
  WorkWatch& operator=(const WorkWatch&) = delete;

  // Operations of one group, in the order of their issue. `reached`: recorded before it on the stream that it follows;
  // nothing: at once. Any thread.
  void add(Operation operation, Works works, std::optional<c10::Event> reached);

  // Returns when everything that was added is over or has been given up, and from then on no work is asked; or after `patience`, and
  // what is not over goes on being watched. The last call.
  void rest(std::chrono::milliseconds patience);

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    Operation operation;
    Works works;
    std::optional<c10::Event> reached;
  };

  void run();
  // Those that are over go; the reason to give up, if there is one. Under the lock.
  std::optional<WatchFault> look();
  std::optional<WatchFault> look_at_front();
  bool reached_front();
  // Lets go of the lock while it asks: the answer may come from another machine.
  std::optional<WatchFault> ask(std::unique_lock<std::mutex>& lock);

  c10::Device device_;
  std::chrono::milliseconds deadline_;
  StatusPage* status_;
  GiveUp give_up_;
  AnotherGaveUp another_gave_up_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Watched> watched_;
  std::optional<Clock::time_point> front_since_;  // when the device reached the first of them
  Clock::time_point asked_;                       // or when the first of them became it
  bool ends_ = false, rests_ = false, rested_ = false, given_up_ = false;
  std::thread thread_;
};

}  // namespace hftrain::comm

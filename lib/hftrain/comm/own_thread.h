// Calls of LibTorch's store that may never return. Its client has deadlines for the keys it waits for, and none for the server's
// answer: a rank 0 that is frozen, not dead, still has its connections, takes what is sent and answers nothing.
#pragma once

#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace hftrain::comm {

// How long a watch waits for an answer, of which a sound store on a busy machine needs little: no operation is looked at
// meanwhile.
inline constexpr std::chrono::milliseconds kWatchWaits{200};

// How long an answer is waited for that nobody wants any more: what takes no longer ends as it would have.
inline constexpr std::chrono::milliseconds kUnwantedWaits{2000};

struct Unwanted : std::exception {
  const char* what() const noexcept override { return "nobody waits for it any more"; }
};

// Begins `call` on a thread of its own, which is left behind where it does not return: it owns all that it touches. That goes
// before the answer is there, so that a thread which has answered is never the last to let go of a store. The future does not
// wait when it goes. std::system_error where there is no thread to be had.
template <typename Call>
std::future<std::invoke_result_t<Call>> begin_on_own_thread(Call call) {
  std::packaged_task<std::invoke_result_t<Call>()> task([call = std::move(call)]() mutable {
    Call own = std::move(call);
    return own();
  });
  std::future<std::invoke_result_t<Call>> result = task.get_future();
  std::thread(std::move(task)).detach();
  return result;
}

// How a wait ended.
enum class Awaited { kThere, kNotInTime, kNotWanted };

// Waits for `result` until the deadline, or until `unwanted`, which may be empty, has said for kUnwantedWaits that nobody wants it.
template <typename Result>
Awaited await(const std::future<Result>& result, std::chrono::milliseconds deadline,
              const std::function<bool()>& unwanted) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + deadline;
  std::optional<Clock::time_point> leave_at;
  while (unwanted) {
    if (leave_at && Clock::now() >= *leave_at) return Awaited::kNotWanted;
    if (!leave_at && unwanted()) leave_at = Clock::now() + kUnwantedWaits;
    if (Clock::now() >= end) return Awaited::kNotInTime;
    if (result.wait_until(std::min(end, Clock::now() + kWatchWaits)) == std::future_status::ready)
      return Awaited::kThere;
  }
  return result.wait_until(end) == std::future_status::ready ? Awaited::kThere : Awaited::kNotInTime;
}

// What `call` returns or throws; c10::DistNetworkError when it has done neither at the deadline, Unwanted when nobody waits for it
// any more.
template <typename Call>
std::invoke_result_t<Call> call_within(std::chrono::milliseconds deadline, Call call,
                                       const std::function<bool()>& unwanted = nullptr) {
  std::future<std::invoke_result_t<Call>> result = begin_on_own_thread(std::move(call));
  const Awaited awaited = await(result, deadline, unwanted);
  if (awaited == Awaited::kNotWanted) throw Unwanted();
  TORCH_CHECK_WITH(DistNetworkError, awaited == Awaited::kThere, "no answer within ", deadline.count(),
                   " ms");
  return result.get();
}

}  // namespace hftrain::comm

// Calls of LibTorch's store that may never return. Its client has deadlines for the keys it waits for, and none for the server's
// answer: a rank 0 that is frozen, not dead, still has its connections, takes what is sent and answers nothing.
#pragma once

#include <c10/util/Exception.h>

#include <chrono>
#include <future>
#include <thread>
#include <type_traits>
#include <utility>

namespace hftrain::comm {

// How long a watch waits for an answer, of which a sound store on a busy machine needs little: no operation is looked at
// meanwhile.
inline constexpr std::chrono::milliseconds kWatchWaits{200};

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

// What `call` returns or throws; c10::DistNetworkError when it has done neither at the deadline.
template <typename Call>
std::invoke_result_t<Call> call_within(std::chrono::milliseconds deadline, Call call) {
  std::future<std::invoke_result_t<Call>> result = begin_on_own_thread(std::move(call));
  TORCH_CHECK_WITH(DistNetworkError, result.wait_for(deadline) == std::future_status::ready,
                   "no answer within ", deadline.count(), " ms");
  return result.get();
}

}  // namespace hftrain::comm

#include "hftrain/comm/own_thread.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>

#include "support/catch.h"

namespace hftrain::comm {
namespace {

// Goes slowly: as long as nobody has said that he saw the answer, up to a moment.
class GoesSlowly {
 public:
  GoesSlowly(std::future<void> seen, std::atomic<bool>& gone) : seen_(std::move(seen)), gone_(&gone) {}
  GoesSlowly(const GoesSlowly&) = delete;
  GoesSlowly& operator=(const GoesSlowly&) = delete;
  ~GoesSlowly() {
    seen_.wait_for(std::chrono::milliseconds(200));
    gone_->store(true);
  }

 private:
  std::future<void> seen_;
  std::atomic<bool>* gone_;
};

}  // namespace

TEST_CASE("what a call on a thread of its own holds is gone before its answer is there") {
  std::atomic<bool> gone = false;
  std::promise<void> seen;
  auto held = std::make_shared<GoesSlowly>(seen.get_future(), gone);
  std::future<int> answer = begin_on_own_thread([held = std::move(held)] { return 7; });
  answer.wait();
  const bool was_gone = gone;
  seen.set_value();
  CHECK(was_gone);
  CHECK(answer.get() == 7);
  while (!gone) std::this_thread::yield();  // it is written to until then
}

TEST_CASE("of a call on a thread of its own the result is had, what it throws, and that it is late") {
  using namespace std::chrono_literals;
  CHECK(call_within(10s, [] { return 7; }) == 7);
  CHECK_THROWS_AS(call_within(10s, []() -> int { throw std::out_of_range("it"); }), std::out_of_range);
  std::promise<void> never;
  CHECK_THROWS_AS(call_within(1ms, [end = never.get_future().share()] { end.wait(); }),
                  c10::DistNetworkError);
  never.set_value();
}

TEST_CASE("an answer that nobody wants any more is waited for no longer than a moment") {
  std::promise<int> answer;
  std::shared_future<int> never = answer.get_future().share();
  const auto begin = std::chrono::steady_clock::now();
  CHECK_THROWS_AS(call_within(
                      std::chrono::seconds(30), [never] { return never.get(); }, [] { return true; }),
                  Unwanted);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(25));
  CHECK(call_within(
            std::chrono::seconds(30), [] { return 7; }, [] { return true; }) == 7);
  CHECK_THROWS_AS(call_within(
                      std::chrono::milliseconds(300), [never] { return never.get(); }, [] { return false; }),
                  c10::DistNetworkError);
  answer.set_value(0);
}

}  // namespace hftrain::comm

// The host's grid itself: it runs what is right, and says what is wrong. Without this a kernel that passes shows nothing.
#include "grid.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>

#include <cmath>

#include "memory.h"
#include "small_kernels.h"
#include "support/catch.h"

namespace hftrain::grid {
namespace {

// What it writes for 1, 2, 3 …
at::Tensor run_small(Small which, int64_t blocks, int threads, Order order) {
  const at::Tensor in = at::arange(1, blocks * threads + 1, at::kFloat), out = at::full_like(in, NAN);
  const Memory first(in.const_data_ptr(), in.nbytes(), sizeof(float));
  const Memory second(out.const_data_ptr(), out.nbytes(), sizeof(float));
  set_order(order);
  run_small(which, in.const_data_ptr<float>(), out.data_ptr<float>(), blocks, threads);
  return out;
}

std::string fault_of(Small which, int64_t blocks, int threads, Order order) {
  run_small(which, blocks, threads, order);
  return fault();
}

}  // namespace

TEST_CASE("A grid on the host runs what is right, in either order") {
  const Order order = GENERATE(Order::kForward, Order::kBackward);
  const int threads = GENERATE(32, 64, 1024);
  const at::Tensor in = at::arange(1, 3 * threads + 1, at::kFloat);
  const at::Tensor sums = run_small(Small::kSum, 3, threads, order).view({3, threads});
  CHECK(fault() == "");
  CHECK(sums.equal(in.view({3, threads}).sum(1, true).expand({3, threads})));
  const at::Tensor next = run_small(Small::kNeighbours, 1, threads, order);
  CHECK(fault() == "");
  CHECK(next.equal(in.narrow(0, 0, threads).roll(-1) * 4));
}

TEST_CASE("A missing barrier shows in what the orders of a grid on the host make of the numbers") {
  set_watched(false);
  const auto differ = [](Small which) {
    const at::Tensor forward = run_small(which, 1, 64, Order::kForward);
    return !forward.equal(run_small(which, 1, 64, Order::kBackward));
  };
  CHECK_FALSE(differ(Small::kNeighbours));
  CHECK(differ(Small::kReadTooEarly));
  CHECK(differ(Small::kWrittenTooEarly));
  set_watched(true);
}

TEST_CASE("A grid on the host ends at what a GPU punishes or leaves undefined, and says what it was") {
  struct Wrong {
    Small which;
    std::string said;
  };
  const Wrong& wrong = GENERATE(from_range(std::vector<Wrong>{
      {Small::kReadTooEarly, "meets what another thread writes|reads shared memory that was not written"},
      {Small::kWrittenTooEarly, "writes what another thread reads|meets what another thread writes"},
      {Small::kUnwritten, "reads shared memory that was not written"},
      {Small::kBehindShared, "block 0, thread 0 writes outside of its memory"},
      {Small::kBarrierOfHalf, "the barrier at small_kernels.cpp:\\d+ is not reached by all threads"},
      {Small::kBarrierAfterReturn, "the barrier at small_kernels.cpp:\\d+ is not reached by all threads"},
      {Small::kTwoBarriers, "the barriers at .* and .* are reached by parts"},
      {Small::kShuffleOfHalf, "the shuffle at small_kernels.cpp:\\d+ is not reached by lane 16 of its mask"},
      {Small::kShuffleBesideMask, "asks or is asked by a lane outside of its mask"},
      {Small::kReadsBehind, "block 2, thread .* reads outside of its memory"},
      {Small::kReadsBefore, "block 0, thread .* reads outside of its memory"},
      {Small::kReadsBesideVectors,
       "block 0, thread .* is at no multiple of the bytes that it touches at once"},
      {Small::kWritesBehind, "block 2, thread .* writes outside of its memory"},
      {Small::kSameElement, "block 0, thread .* meets what another thread writes"},
      {Small::kLastWrites,
       "thread 63 writes what another thread reads|thread 62 meets what another thread writes"},
      {Small::kBlocksShareElement, "block 1, thread 0 meets what another thread writes"},
      {Small::kReadsWhatOtherWrote, "block 1, thread .* meets what another thread writes"}}));
  const Order order = GENERATE(Order::kForward, Order::kBackward);
  INFO(static_cast<int>(wrong.which));
  CHECK_THAT(fault_of(wrong.which, 3, 64, order), Catch::Matches(".*(" + wrong.said + ").*"));
  CHECK(fault_of(Small::kSum, 3, 64, order) == "");  // and the next launch is not hurt
}

TEST_CASE("A grid on the host refuses launches that a GPU refuses") {
  CHECK(fault_of(Small::kSum, 1, 1025, Order::kForward) == "there is no launch of 1 blocks of 1025");
  run_small(Small::kSum, nullptr, nullptr, 0, 32);
  CHECK(fault() == "there is no launch of 0 blocks of 32");
  run_small(Small::kSum, nullptr, nullptr, 1, 0);
  CHECK(fault() == "there is no launch of 1 blocks of 0");
  // 2^32 + 1 blocks are not one block.
  run_small(Small::kSum, nullptr, nullptr, (int64_t{1} << 32) + 1, 32);
  CHECK(fault() == "there is no launch of 4294967295 blocks of 32");
}

}  // namespace hftrain::grid

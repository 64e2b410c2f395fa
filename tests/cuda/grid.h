// A grid of CUDA threads on one thread of the host, for kernels compiled as C++ (language/cuda_runtime_api.h). Blocks run one
// after the other. Each of their threads is a fiber that runs until it waits: warps and lanes always in one order, each warp as
// far as the next barrier before the other warps move, so that what a barrier is missed by happens.
//
// A launch ends at the first thing that a GPU punishes or leaves undefined, and fault() has it in words:
//   a launch of no blocks, of too many, or of more threads than a block may have
//   a barrier that a thread of the block does not reach, or that stands in several places
//   a shuffle that a lane of its mask does not reach, or that asks a lane outside of the mask
//   a load or a store that begins at no multiple of its bytes
//   memory outside of every Memory (memory.h), and shared memory that the block has not written
//   two threads at one place of memory, one of them writing, without a barrier between them; of two blocks always
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

namespace hftrain::grid {

constexpr int kLanes = 32;  // of a warp

struct Index {
  unsigned x = 0;
};
// Of the thread that runs.
Index thread_index();
Index block_index();
Index block_size();
Index grid_size();

// Returns when all threads of the block have come here.
void wait_for_block(std::source_location place);
// The value of the lane whose number differs by the bits `step`, when all lanes of `mask` have come here.
float exchange(unsigned mask, float value, int step, std::source_location place);

// In which order warps and lanes run where nothing says which of them comes first.
enum class Order { kForward, kBackward };
void set_order(Order order);
// false: accesses to memory are not looked at, so that what a race makes of the numbers is seen.
void set_watched(bool watched);

// What the last launch did wrong, or nothing.
const std::string& fault();

// What a kernel is called with, as constant memory, and the call.
struct Call {
  const void* parameters = nullptr;
  size_t bytes = 0;
  void (*body)(const void*) = nullptr;
};
void run(unsigned blocks, int threads, const Call& call);

// Calls `body` in each thread.
template <typename Body>
void run(unsigned blocks, int threads, const Body& body) {
  run(blocks, threads,
      Call{&body, sizeof body, [](const void* parameters) { (*static_cast<const Body*>(parameters))(); }});
}

}  // namespace hftrain::grid

// CUDA's language and what kernels call of its library, for a compiler of C++: stands in the place of the toolkit's header, so
// that sources of kernels are compiled as they are. One dimension of blocks and threads, and no more than our kernels
// use: a kernel that needs more does not compile until it stands here.
#pragma once

#include <cmath>
#include <source_location>

#include "grid.h"

#define __global__
#define __device__
#define __launch_bounds__(...)
// One copy will do, as the blocks of a grid run one after the other. Each has pages of its own: what lies behind one that does not
// fill them is no other's.
#define __shared__ alignas(4096) static

#define threadIdx (::hftrain::grid::thread_index())
#define blockIdx (::hftrain::grid::block_index())
#define blockDim (::hftrain::grid::block_size())
#define gridDim (::hftrain::grid::grid_size())

// A type of the compiler's own, so that what is loaded or stored by 16 bytes is told to memory.cpp as that.
using uint4 = unsigned __attribute__((vector_size(16), may_alias));

inline void __stwb(uint4* to, uint4 value) {
  *to = value;
}

using cudaStream_t = struct CUstream_st*;

inline void __syncthreads(std::source_location place = std::source_location::current()) {
  hftrain::grid::wait_for_block(place);
}

inline float __shfl_xor_sync(unsigned mask, float value, int step,
                             std::source_location place = std::source_location::current()) {
  return hftrain::grid::exchange(mask, value, step, place);
}

// Within two units in the last place where y is from 2^-126 to 2^126 and 0 above, but where y is infinite.
inline float __fdividef(float x, float y) {
  return std::isfinite(y) && std::abs(y) > 0x1p126f ? x * 0.0f : x / y;
}

inline float rsqrtf(float x) {
  return 1.0f / std::sqrt(x);
}

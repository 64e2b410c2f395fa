// CUDA's language and what kernels call of its library, for a compiler of C++: stands in the place of the toolkit's header, so
// that sources of kernels are compiled as they are. One dimension of blocks and threads, and no more than our kernels
// use: a kernel that needs more does not compile until it stands here.
#pragma once

#include <cmath>
#include <source_location>

#include "grid.h"

#define __global__
#define __device__
// One copy will do, as the blocks of a grid run one after the other. Each has pages of its own: what lies behind one that does not
// fill them is no other's.
#define __shared__ alignas(4096) static

#define threadIdx (::hftrain::grid::thread_index())
#define blockIdx (::hftrain::grid::block_index())
#define blockDim (::hftrain::grid::block_size())
#define gridDim (::hftrain::grid::grid_size())

using cudaStream_t = struct CUstream_st*;

inline void __syncthreads(std::source_location place = std::source_location::current()) {
  hftrain::grid::wait_for_block(place);
}

inline float __shfl_xor_sync(unsigned mask, float value, int step,
                             std::source_location place = std::source_location::current()) {
  return hftrain::grid::exchange(mask, value, step, place);
}

inline float rsqrtf(float x) {
  return 1.0f / std::sqrt(x);
}

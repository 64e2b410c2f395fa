// What the kernels share: numbers of a dtype to and from float, sums over a block, sizes of a launch and the launch.
// C++ but for <<<>>>, as is every kernel: a CPU runs them in tests/cuda.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <climits>
#include <cstdint>

#include "hftrain/cuda/kernels.h"

namespace hftrain::cuda {

constexpr int kWarp = 32;
constexpr int kElementwiseThreads = 256;
constexpr int64_t kElementwiseBlocks = 4096;  // enough for any GPU; each takes elements a grid apart

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(__half x) {
  return __half2float(x);
}
__device__ inline float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

template <typename T>
__device__ inline T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

struct Sum {
  __device__ static float identity() { return 0.0f; }
  __device__ static float join(float a, float b) { return a + b; }
};
struct Maximum {
  __device__ static float identity() { return -INFINITY; }
  __device__ static float join(float a, float b) { return fmaxf(a, b); }
};

// The reduction over a warp, the same number in all its threads.
template <typename Reduction>
__device__ inline float over_warp(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    value = Reduction::join(value, __shfl_xor_sync(0xffffffffu, value, step));
  }
  return value;
}

// The reduction over a block of whole warps, the same number in all its threads. `shared` holds a float per warp.
template <typename Reduction>
__device__ inline float over_block(float value, float* shared) {
  value = over_warp<Reduction>(value);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, warps = static_cast<int>(blockDim.x) / kWarp;
  __syncthreads();  // the last reduction may still be read
  if (threadIdx.x % kWarp == 0) shared[warp] = value;
  __syncthreads();
  float total = Reduction::identity();
  for (int i = 0; i < warps; ++i) total = Reduction::join(total, shared[i]);
  return total;
}

// Threads of a block that takes a row: whole warps, no more than there is work for.
inline int row_threads(int64_t width) {
  return static_cast<int>(std::min<int64_t>(1024, (width + kWarp - 1) / kWarp * kWarp));
}

inline int64_t elementwise_blocks(int64_t n) {
  return std::min(kElementwiseBlocks, (n + kElementwiseThreads - 1) / kElementwiseThreads);
}

// The one way to start a kernel. No blocks, or more than a grid may have, are an error of the launch, never some of them.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), int64_t blocks, int threads, cudaStream_t stream,
            Arguments... arguments) {
  const auto grid_blocks = static_cast<unsigned>(std::min<int64_t>(blocks, UINT_MAX));
#ifdef __CUDACC__
  kernel<<<grid_blocks, threads, 0, stream>>>(arguments...);
#else  // C++ has no such call: tests/cuda runs the grid on the host
  static_cast<void>(stream);
  grid::run(grid_blocks, threads, [=] { kernel(arguments...); });
#endif
}

// Calls body(T{}) with the type of `dtype`.
template <typename Body>
void with_type(Dtype dtype, const Body& body) {
  switch (dtype) {
    case Dtype::kFloat:
      return body(float{});
    case Dtype::kHalf:
      return body(__half{});
    case Dtype::kBFloat16:
      return body(__nv_bfloat16{});
  }
}

}  // namespace hftrain::cuda

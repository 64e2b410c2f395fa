// What the kernels share: numbers of a dtype to and from float, loads and stores of several, sums over a block, sizes of a launch and
// the launch.
// C++ but for <<<>>>, as is every kernel: a CPU runs them in tests/cuda.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cstdint>
#include <cstring>

#include "hftrain/cuda/kernels.h"

namespace hftrain::cuda {

constexpr int kWarp = 32;
constexpr int kElementwiseThreads = 256;
constexpr int64_t kElementwiseBlocks = 4096;  // enough for any GPU; each takes elements a grid apart
constexpr int kVectorBytes = 16;              // the most that an instruction of a thread loads on every GPU
constexpr int kTogether = 2;                  // loads of a thread that are under way at once, of each array

template <typename T>
constexpr int kVector = kVectorBytes / static_cast<int>(sizeof(T));

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

// Numbers side by side: one, or a vector, which one instruction loads or stores at a multiple of its bytes; elsewhere a GPU ends the
// program. Loops over their numbers are unrolled by #pragma unroll: else nvcc keeps some of them in memory of the thread.
template <typename T, int kSize>
struct Pack {
  T values[kSize];
};

template <int kSize, typename T>
__device__ inline Pack<T, kSize> load(const T* from) {
  Pack<T, kSize> pack;
  if constexpr (kSize == 1) {
    pack.values[0] = *from;
  } else {
    static_assert(kSize == kVector<T>);
    const uint4 bits = *reinterpret_cast<const uint4*>(from);
    memcpy(&pack, &bits, sizeof pack);
  }
  return pack;
}
template <int kSize, typename T>
__device__ inline void store(T* to, const Pack<T, kSize>& pack) {
  if constexpr (kSize == 1) {
    *to = pack.values[0];
  } else {
    static_assert(kSize == kVector<T>);
    unsigned words[4];
    memcpy(words, &pack, sizeof pack);
    // nvcc makes four stores of a plain one at times
    __stwb(reinterpret_cast<uint4*>(to), uint4{words[0], words[1], words[2], words[3]});
  }
}

// Whether vectors may begin at each of `pointers`.
template <typename... Pointers>
bool aligned(Pointers... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % kVectorBytes == 0) && ...);
}

// What a loop's body takes at once.
template <int kSizeOfEach, int kHowMany>
struct Packs {
  static constexpr int kSize = kSizeOfEach, kCount = kHowMany;
};

// Calls body(Packs<kSize, count>{}, i, apart) for packs first, first + step … below `end`: `count` of them begin at the elements i,
// i + apart … Loads of all of them come first in `body`, so that memory is waited for once.
template <int kSize, typename Body>
__device__ inline void for_each_pack(int64_t first, int64_t end, int64_t step, const Body& body) {
  static_assert(kTogether == 2);
  int64_t i = first;
  for (; i + step < end; i += kTogether * step) body(Packs<kSize, kTogether>{}, i * kSize, step * kSize);
  if (i < end) body(Packs<kSize, 1>{}, i * kSize, step * kSize);
}

// The same for a row that begins anywhere, by the threads of a block: vectors from the first place that they may have, and what lies
// before and behind them one by one. A thread takes the same elements each time.
template <typename T, typename Body>
__device__ inline void for_each_in_row(const T* row, int64_t width, const Body& body) {
  constexpr int64_t kSize = kVector<T>;
  const int64_t past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(row) % kVectorBytes / sizeof(T));
  const int64_t to_next = (kSize - past) % kSize, head = to_next < width ? to_next : width;
  const int64_t vectors = (width - head) / kSize, mine = threadIdx.x;
  const int64_t behind = head + vectors * kSize + mine;
  if (mine < head) body(Packs<1, 1>{}, mine, int64_t{1});
  for_each_pack<kVector<T>>(mine, vectors, blockDim.x, [&](auto packs, int64_t first, int64_t apart) {
    body(packs, head + first, apart);
  });
  if (behind < width) body(Packs<1, 1>{}, behind, int64_t{1});
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

inline int64_t ceil_divide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Threads of a block that takes a row of `packs`: whole warps, no more than there is work for. A kernel says by __launch_bounds__ how
// many it gets: the registers of a multiprocessor must do for them.
inline int row_threads(int64_t packs, int64_t most) {
  return static_cast<int>(std::min<int64_t>(most, ceil_divide(packs, kWarp) * kWarp));
}

inline int64_t elementwise_blocks(int64_t packs) {
  return std::min(kElementwiseBlocks, ceil_divide(packs, int64_t{kElementwiseThreads} * kTogether));
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

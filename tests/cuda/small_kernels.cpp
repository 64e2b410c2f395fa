#include "small_kernels.h"

#include "hftrain/cuda/device.cuh"

namespace hftrain::grid {
namespace {

using cuda::kWarp;

// Two reductions, one right behind the other.
__global__ void sum(const float* in, float* out) {
  __shared__ float shared[kWarp];
  const float value = in[blockIdx.x * blockDim.x + threadIdx.x];
  const float total = cuda::over_block<cuda::Sum>(value, shared);
  const float again = cuda::over_block<cuda::Sum>(value, shared);
  out[blockIdx.x * blockDim.x + threadIdx.x] = (total + again) / 2;
}

// Four times what the next thread has, with barriers before and behind the reading of what all wrote.
__global__ void neighbours(const float* in, float* out, bool before, bool behind) {
  __shared__ float shared[1024];
  for (int round = 0; round < 2; ++round) {
    const float kept = round == 0 ? 0 : out[threadIdx.x];
    shared[threadIdx.x] = in[threadIdx.x] * static_cast<float>(round + 1);
    if (before) __syncthreads();
    out[threadIdx.x] = 2 * kept + shared[(threadIdx.x + 1) % blockDim.x];
    if (behind) __syncthreads();
  }
}

__global__ void unwritten(float* out) {
  __shared__ float shared[1024];
  if (blockIdx.x == 0) shared[threadIdx.x] = 1;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = shared[threadIdx.x];
}

// Each thread has 4 of 256 elements.
__global__ void too_many_for_shared(float* out) {
  __shared__ float shared[256];
  for (unsigned i = threadIdx.x; i < 4 * blockDim.x + 1; i += blockDim.x) shared[i] = 1;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = shared[threadIdx.x];
}

__global__ void barriers(bool both, bool ends) {
  const bool first = threadIdx.x < blockDim.x / 2;
  if (ends && first) return;
  if (ends || first) __syncthreads();
  if (both && !first) __syncthreads();
}

__global__ void shuffles(float* out, int step) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(step < 16 ? 0xffffffffu : 0xffffu, 1.0f, step);
}

__global__ void copy(const float* in, float* out, int64_t from, int64_t to) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  out[i + to] = in[i + from];
}

__global__ void copy_vector(const float* in, float* out) {
  cuda::store(out, cuda::load<4>(in + 1));
}

__global__ void write_one(float* out, bool every_thread) {
  if (every_thread || threadIdx.x == 0) out[0] = 1;
}

// In forward order all have read before the last one writes.
__global__ void last_writes(float* out) {
  const bool seen = out[0] == 1;
  if (seen || threadIdx.x == blockDim.x - 1) out[0] = 2;
}

__global__ void read_other_block(float* out) {
  const float before = blockIdx.x == 0 ? 0 : out[(blockIdx.x - 1) * blockDim.x];
  out[blockIdx.x * blockDim.x + threadIdx.x] = before;
}

}  // namespace

void run_small(Small which, const float* in, float* out, int64_t blocks, int threads) {
  const auto start = [&](auto kernel, auto... arguments) {
    cuda::launch(kernel, blocks, threads, nullptr, arguments...);
  };
  switch (which) {
    case Small::kSum:
      return start(sum, in, out);
    case Small::kNeighbours:
      return start(neighbours, in, out, true, true);
    case Small::kReadTooEarly:
      return start(neighbours, in, out, false, true);
    case Small::kWrittenTooEarly:
      return start(neighbours, in, out, true, false);
    case Small::kUnwritten:
      return start(unwritten, out);
    case Small::kBehindShared:
      return start(too_many_for_shared, out);
    case Small::kBarrierOfHalf:
      return start(barriers, false, false);
    case Small::kBarrierAfterReturn:
      return start(barriers, false, true);
    case Small::kTwoBarriers:
      return start(barriers, true, false);
    case Small::kShuffleOfHalf:
      return start(shuffles, out, 8);
    case Small::kShuffleBesideMask:
      return start(shuffles, out, 16);
    case Small::kReadsBehind:
      return start(copy, in, out, 1, 0);
    case Small::kReadsBefore:
      return start(copy, in, out, -1, 0);
    case Small::kReadsBesideVectors:
      return start(copy_vector, in, out);
    case Small::kWritesBehind:
      return start(copy, in, out, 0, 1);
    case Small::kSameElement:
      return start(write_one, out, true);
    case Small::kLastWrites:
      return start(last_writes, out);
    case Small::kBlocksShareElement:
      return start(write_one, out, false);
    case Small::kReadsWhatOtherWrote:
      return start(read_other_block, out);
  }
}

}  // namespace hftrain::grid

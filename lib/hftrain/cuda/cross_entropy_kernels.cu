#include "hftrain/cuda/device.cuh"

namespace hftrain::cuda {
namespace {

constexpr int64_t kNoTarget = -100;
// Threads of a block, at most, and blocks that a multiprocessor has registers for at least: one loads while another waits for its sums.
// With more of them ptxas would wait for one load before it begins the next.
constexpr int kLossThreads = 512, kBlocksTogether = 2;

template <typename T>
__device__ void write_zeros(T* logits, int64_t vocab) {
  for_each_in_row(logits, vocab, [&](auto packs, int64_t first, int64_t apart) {
    constexpr int kSize = decltype(packs)::kSize, kCount = decltype(packs)::kCount;
    Pack<T, kSize> zeros;
#pragma unroll
    for (int e = 0; e < kSize; ++e) zeros.values[e] = from_float<T>(0.0f);
#pragma unroll
    for (int k = 0; k < kCount; ++k) store(logits + first + k * apart, zeros);
  });
}

// `target` is negative where the row has none.
template <typename T>
__device__ void write_gradient(T* logits, int64_t vocab, int64_t target, float log_sum, float smoothing,
                               float scale) {
  const float share = smoothing / static_cast<float>(vocab);
  for_each_in_row(logits, vocab, [&](auto packs, int64_t first, int64_t apart) {
    constexpr int kSize = decltype(packs)::kSize, kCount = decltype(packs)::kCount;
    Pack<T, kSize> held[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) held[k] = load<kSize>(logits + first + k * apart);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const int64_t place = target - (first + k * apart);
      const int here = place >= 0 && place < kSize ? static_cast<int>(place) : -1;
#pragma unroll
      for (int e = 0; e < kSize; ++e) {
        const float likelihood = e == here ? 1.0f - smoothing : 0.0f;
        const float value = to_float(held[k].values[e]);
        held[k].values[e] = from_float<T>(scale * (expf(value - log_sum) - share - likelihood));
      }
      store(logits + first + k * apart, held[k]);
    }
  });
}

// Σ exp(x − highest) and Σ x of the logits that a thread has seen, in one pass. `highest` begins finite: −∞ less −∞ is no number.
struct Seen {
  float highest = -FLT_MAX, sum = 0, plain = 0;
};

template <typename T>
__device__ Seen read_logits(const T* logits, int64_t vocab) {
  Seen seen;
  for_each_in_row(logits, vocab, [&](auto packs, int64_t first, int64_t apart) {
    constexpr int kSize = decltype(packs)::kSize, kCount = decltype(packs)::kCount;
    Pack<T, kSize> held[kCount];
    float highest = seen.highest;
#pragma unroll
    for (int k = 0; k < kCount; ++k) held[k] = load<kSize>(logits + first + k * apart);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
#pragma unroll
      for (int e = 0; e < kSize; ++e) highest = fmaxf(highest, to_float(held[k].values[e]));
    }
    seen.sum *= expf(seen.highest - highest);
    seen.highest = highest;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
#pragma unroll
      for (int e = 0; e < kSize; ++e) {
        const float value = to_float(held[k].values[e]);
        seen.sum += expf(value - highest);
        seen.plain += value;
      }
    }
  });
  return seen;
}

// A block takes a row: one pass reads it, and one writes the gradient. −log p[j] = log_sum − x[j] with
// log_sum = max + log Σ exp(x − max).
template <typename T>
__global__ void __launch_bounds__(kLossThreads, kBlocksTogether)
    cross_entropy_kernel(T* logits, int64_t stride, const int64_t* targets, float* losses, int64_t vocab,
                         float smoothing, const float* scale) {
  __shared__ float shared[kWarp];
  logits += static_cast<int64_t>(blockIdx.x) * stride;
  const int64_t target = targets[blockIdx.x];
  if (target == kNoTarget) {
    if (threadIdx.x == 0) losses[blockIdx.x] = 0;
    if (scale != nullptr) write_zeros(logits, vocab);
    return;
  }
  const Seen seen = read_logits(logits, vocab);
  const float highest = over_block<Maximum>(seen.highest, shared);
  const float log_sum = highest + logf(over_block<Sum>(seen.sum * expf(seen.highest - highest), shared));
  const float mean = log_sum - over_block<Sum>(seen.plain, shared) / static_cast<float>(vocab);
  const bool known = target >= 0 && target < vocab;
  if (threadIdx.x == 0) {
    const float likelihood = known ? log_sum - to_float(logits[target]) : NAN;
    losses[blockIdx.x] = smoothing == 0 ? likelihood : (1 - smoothing) * likelihood + smoothing * mean;
  }
  __syncthreads();  // the target's logit has been read
  if (scale != nullptr) write_gradient(logits, vocab, known ? target : -1, log_sum, smoothing, *scale);
}

}  // namespace

void cross_entropy(Dtype dtype, void* logits, int64_t stride, const int64_t* targets, float* losses,
                   int64_t rows, int64_t vocab, float smoothing, const float* scale, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const int threads = row_threads(ceil_divide(vocab, kVector<T>), kLossThreads);
    launch(cross_entropy_kernel<T>, rows, threads, stream, static_cast<T*>(logits), stride, targets, losses,
           vocab, smoothing, scale);
  });
}

}  // namespace hftrain::cuda

#include "hftrain/cuda/device.cuh"

namespace hftrain::cuda {
namespace {

constexpr int64_t kNoTarget = -100;

template <typename T>
__device__ void write_gradient(T* logits, int64_t vocab, int64_t target, float log_sum, float smoothing,
                               float scale) {
  const float share = smoothing / static_cast<float>(vocab);
  for (int64_t i = threadIdx.x; i < vocab; i += blockDim.x) {
    const float likelihood = i == target ? 1.0f - smoothing : 0.0f;
    logits[i] = from_float<T>(scale * (expf(to_float(logits[i]) - log_sum) - share - likelihood));
  }
}

// A block takes a row. −log p[j] = log_sum − x[j] with log_sum = max + log Σ exp(x − max).
template <typename T>
__global__ void cross_entropy_kernel(T* logits, int64_t stride, const int64_t* targets, float* losses,
                                     int64_t vocab, float smoothing, const float* scale) {
  __shared__ float shared[kWarp];
  logits += static_cast<int64_t>(blockIdx.x) * stride;
  const int64_t target = targets[blockIdx.x];
  if (target == kNoTarget) {
    if (threadIdx.x == 0) losses[blockIdx.x] = 0;
    if (scale == nullptr) return;
    for (int64_t i = threadIdx.x; i < vocab; i += blockDim.x) logits[i] = from_float<T>(0.0f);
    return;
  }
  float highest = Maximum::identity(), sum = 0, plain = 0;
  for (int64_t i = threadIdx.x; i < vocab; i += blockDim.x) highest = fmaxf(highest, to_float(logits[i]));
  highest = over_block<Maximum>(highest, shared);
  for (int64_t i = threadIdx.x; i < vocab; i += blockDim.x) {
    const float value = to_float(logits[i]);
    sum += expf(value - highest);
    plain += value;
  }
  const float log_sum = highest + logf(over_block<Sum>(sum, shared));
  const float mean = log_sum - over_block<Sum>(plain, shared) / static_cast<float>(vocab);
  if (threadIdx.x == 0) {
    const bool known = target >= 0 && target < vocab;
    const float likelihood = known ? log_sum - to_float(logits[target]) : NAN;
    losses[blockIdx.x] = smoothing == 0 ? likelihood : (1 - smoothing) * likelihood + smoothing * mean;
  }
  __syncthreads();  // the target's logit has been read
  if (scale != nullptr) write_gradient(logits, vocab, target, log_sum, smoothing, *scale);
}

}  // namespace

void cross_entropy(Dtype dtype, void* logits, int64_t stride, const int64_t* targets, float* losses,
                   int64_t rows, int64_t vocab, float smoothing, const float* scale, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch(cross_entropy_kernel<T>, rows, row_threads(vocab), stream, static_cast<T*>(logits), stride,
           targets, losses, vocab, smoothing, scale);
  });
}

}  // namespace hftrain::cuda

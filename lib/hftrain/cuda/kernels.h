// The CUDA kernels of the operators in nn/ops.h, as plain functions: no LibTorch here, so that nvcc reads little.
//
// Pointers are to contiguous memory of the current device; x, weights, outputs and gradients of `dtype`, all else as
// declared. All arithmetic is in float32. Sizes are above 0. Each launches on `stream` and returns; what went wrong is in
// cudaGetLastError().
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace hftrain::cuda {

enum class Dtype { kFloat, kHalf, kBFloat16 };

// Rows of `width`; rstd [rows].
void rms_norm(Dtype dtype, const void* x, const void* weight, void* out, float* rstd, int64_t rows,
              int64_t width, float eps, cudaStream_t stream);

// How many partial sums of the weight's gradient rms_norm_backward writes.
int64_t rms_norm_partials(int64_t rows, int64_t width);
// grad_weight [rms_norm_partials(rows, width), width]: their sum over the first dimension is the gradient.
void rms_norm_backward(Dtype dtype, const void* grad, const void* x, const void* weight, const float* rstd,
                       void* grad_x, float* grad_weight, int64_t rows, int64_t width, cudaStream_t stream);

void gelu_tanh(Dtype dtype, const void* x, void* out, int64_t n, cudaStream_t stream);
void gelu_tanh_backward(Dtype dtype, const void* grad, const void* x, void* grad_x, int64_t n,
                        cudaStream_t stream);

void swiglu(Dtype dtype, const void* gate, const void* up, void* out, int64_t n, cudaStream_t stream);
void swiglu_backward(Dtype dtype, const void* grad, const void* gate, const void* up, void* grad_gate,
                     void* grad_up, int64_t n, cudaStream_t stream);

// x [tokens, heads, 2·half], token t at position t mod length; cos and sin [at least length, half], float32, rounded
// to `dtype` before they are used. sign −1 turns back.
struct RotaryShape {
  int64_t tokens = 0, length = 1, heads = 1, half = 1;
};
void rotate(Dtype dtype, const void* x, const float* cos, const float* sin, void* out,
            const RotaryShape& shape, float sign, cudaStream_t stream);

// Losses [rows] of logits [rows, vocab], whose rows begin `stride` numbers apart: 0 for the target -100, NaN for others outside the
// vocabulary. With `scale` (not null) the logits become *scale times their gradient.
void cross_entropy(Dtype dtype, void* logits, int64_t stride, const int64_t* targets, float* losses,
                   int64_t rows, int64_t vocab, float smoothing, const float* scale, cudaStream_t stream);

}  // namespace hftrain::cuda

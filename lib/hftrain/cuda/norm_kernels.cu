#include "hftrain/cuda/device.cuh"

namespace hftrain::cuda {
namespace {

constexpr int64_t kMostPartials = 512;  // blocks of the backward: a few for each multiprocessor

// A block takes a row.
template <typename T>
__global__ void rms_norm_kernel(const T* x, const T* weight, T* out, float* rstd, int64_t width, float eps) {
  __shared__ float shared[kWarp];
  const int64_t row = blockIdx.x;
  x += row * width;
  out += row * width;
  float squares = 0;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const float value = to_float(x[i]);
    squares += value * value;
  }
  const float scale = rsqrtf(over_block<Sum>(squares, shared) / static_cast<float>(width) + eps);
  if (threadIdx.x == 0) rstd[row] = scale;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    out[i] = from_float<T>(to_float(x[i]) * scale * to_float(weight[i]));
  }
}

// A block takes rows a grid apart and sums the weight's gradient over them; a thread owns its columns.
template <typename T>
__global__ void rms_norm_backward_kernel(const T* grad, const T* x, const T* weight, const float* rstd,
                                         T* grad_x, float* grad_weight, int64_t rows, int64_t width) {
  __shared__ float shared[kWarp];
  float* sums = grad_weight + static_cast<int64_t>(blockIdx.x) * width;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) sums[i] = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64_t start = row * width;
    const float scale = rstd[row];
    float dot = 0;
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
      dot += to_float(grad[start + i]) * to_float(weight[i]) * to_float(x[start + i]);
    }
    const float along = over_block<Sum>(dot, shared) * scale * scale / static_cast<float>(width);
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
      const float d = to_float(grad[start + i]), value = to_float(x[start + i]);
      sums[i] += d * value * scale;
      grad_x[start + i] = from_float<T>(scale * (d * to_float(weight[i]) - value * along));
    }
  }
}

}  // namespace

void rms_norm(Dtype dtype, const void* x, const void* weight, void* out, float* rstd, int64_t rows,
              int64_t width, float eps, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch(rms_norm_kernel<T>, rows, row_threads(width), stream, static_cast<const T*>(x),
           static_cast<const T*>(weight), static_cast<T*>(out), rstd, width, eps);
  });
}

int64_t rms_norm_partials(int64_t rows) {
  return std::min(rows, kMostPartials);
}

void rms_norm_backward(Dtype dtype, const void* grad, const void* x, const void* weight, const float* rstd,
                       void* grad_x, float* grad_weight, int64_t rows, int64_t width, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch(rms_norm_backward_kernel<T>, rms_norm_partials(rows), row_threads(width), stream,
           static_cast<const T*>(grad), static_cast<const T*>(x), static_cast<const T*>(weight), rstd,
           static_cast<T*>(grad_x), grad_weight, rows, width);
  });
}

}  // namespace hftrain::cuda

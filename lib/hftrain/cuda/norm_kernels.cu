#include "hftrain/cuda/device.cuh"

namespace hftrain::cuda {
namespace {

constexpr int64_t kMostPartials = 512;  // blocks of the backward: a few for each multiprocessor
constexpr int kWarps = 8;               // of a block whose rows are narrow
constexpr int64_t kNarrow = 256;        // columns that the threads of one warp own, eight each

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

// A warp takes rows a grid apart, as the heads of a model are: nobody waits for another warp, and sums stay in registers until the
// end. A lane owns each 32nd column.
template <typename T, int kOwned>
__global__ void narrow_backward_kernel(const T* grad, const T* x, const T* weight, const float* rstd,
                                       T* grad_x, float* grad_weight, int64_t rows, int64_t width) {
  __shared__ float shared[kWarps * kOwned * kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  float weights[kOwned], sums[kOwned];
  for (int k = 0; k < kOwned; ++k) {
    const int column = lane + k * kWarp;
    weights[k] = column < width ? to_float(weight[column]) : 0.0f;
    sums[k] = 0;
  }
  const int64_t step = static_cast<int64_t>(gridDim.x) * kWarps;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + warp; row < rows; row += step) {
    float slopes[kOwned], values[kOwned], dot = 0;
    for (int k = 0; k < kOwned; ++k) {
      const int column = lane + k * kWarp;
      slopes[k] = column < width ? to_float(grad[row * width + column]) : 0.0f;
      values[k] = column < width ? to_float(x[row * width + column]) : 0.0f;
      dot += slopes[k] * weights[k] * values[k];
    }
    const float scale = rstd[row];
    const float along = over_warp<Sum>(dot) * scale * scale / static_cast<float>(width);
    for (int k = 0; k < kOwned; ++k) {
      const int column = lane + k * kWarp;
      sums[k] += slopes[k] * values[k] * scale;
      if (column < width)
        grad_x[row * width + column] = from_float<T>(scale * (slopes[k] * weights[k] - values[k] * along));
    }
  }
  for (int k = 0; k < kOwned; ++k) shared[(warp * kOwned + k) * kWarp + lane] = sums[k];
  __syncthreads();
  for (int column = static_cast<int>(threadIdx.x); column < width; column += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int each = 0; each < kWarps; ++each) sum += shared[each * kOwned * kWarp + column];
    grad_weight[static_cast<int64_t>(blockIdx.x) * width + column] = sum;
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

int64_t rms_norm_partials(int64_t rows, int64_t width) {
  return std::min(width <= kNarrow ? (rows + kWarps - 1) / kWarps : rows, kMostPartials);
}

void rms_norm_backward(Dtype dtype, const void* grad, const void* x, const void* weight, const float* rstd,
                       void* grad_x, float* grad_weight, int64_t rows, int64_t width, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const bool narrow = width <= kNarrow;
    const auto kernel = !narrow                ? rms_norm_backward_kernel<T>
                        : width <= kNarrow / 2 ? narrow_backward_kernel<T, 4>
                                               : narrow_backward_kernel<T, 8>;
    launch(kernel, rms_norm_partials(rows, width), narrow ? kWarps * kWarp : row_threads(width), stream,
           static_cast<const T*>(grad), static_cast<const T*>(x), static_cast<const T*>(weight), rstd,
           static_cast<T*>(grad_x), grad_weight, rows, width);
  });
}

}  // namespace hftrain::cuda

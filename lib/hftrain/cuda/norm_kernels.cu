#include "hftrain/cuda/device.cuh"

namespace hftrain::cuda {
namespace {

constexpr int64_t kMostPartials = 512;  // blocks of the backward: a few for each multiprocessor
constexpr int kWarps = 8;               // of a block whose rows are narrow
constexpr int64_t kNarrow = 256;        // columns that the threads of one warp own, eight each
constexpr int kNormThreads = 1024;      // at most, of a block that takes a row
// Threads of a block that sums the weight's gradient of wide rows in registers, at most, and how many columns each owns, in vectors or
// one by one: as many as registers do for.
constexpr int kOwners = 512, kOwnedInVectors = 16, kOwnedNumbers = 8;

// A block takes a row. With kSize above 1 every row and the weight begin where vectors may, and whole ones fill the width.
template <int kSize, typename T>
__global__ void __launch_bounds__(kNormThreads)
    rms_norm_kernel(const T* x, const T* weight, T* out, float* rstd, int64_t width, float eps) {
  __shared__ float shared[kWarp];
  const int64_t row = blockIdx.x, whole = width / kSize;
  x += row * width;
  out += row * width;
  float squares = 0;
  for_each_pack<kSize>(threadIdx.x, whole, blockDim.x, [&](auto packs, int64_t first, int64_t apart) {
    constexpr int kCount = decltype(packs)::kCount;
    Pack<T, kSize> held[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) held[k] = load<kSize>(x + first + k * apart);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
#pragma unroll
      for (int e = 0; e < kSize; ++e) {
        const float value = to_float(held[k].values[e]);
        squares += value * value;
      }
    }
  });
  const float scale = rsqrtf(over_block<Sum>(squares, shared) / static_cast<float>(width) + eps);
  if (threadIdx.x == 0) rstd[row] = scale;
  for_each_pack<kSize>(threadIdx.x, whole, blockDim.x, [&](auto packs, int64_t first, int64_t apart) {
    constexpr int kCount = decltype(packs)::kCount;
    Pack<T, kSize> held[kCount], weights[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      held[k] = load<kSize>(x + first + k * apart);
      weights[k] = load<kSize>(weight + first + k * apart);
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
#pragma unroll
      for (int e = 0; e < kSize; ++e) {
        const float value = to_float(held[k].values[e]), factor = to_float(weights[k].values[e]);
        held[k].values[e] = from_float<T>(value * scale * factor);
      }
      store(out + first + k * apart, held[k]);
    }
  });
}

// A block takes rows a grid apart and sums the weight's gradient over them; a thread owns its columns. For rows of any width: sums are
// in memory.
template <typename T>
__global__ void __launch_bounds__(kNormThreads)
    rms_norm_backward_kernel(const T* grad, const T* x, const T* weight, const float* rstd, T* grad_x,
                             float* grad_weight, int64_t rows, int64_t width) {
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

// The same with sums in registers until the end, and each row read once: a thread owns kOwned packs of columns, a block apart. With
// kSize above 1 as rms_norm_kernel. Here and below 1/width is multiplied by, not divided by width for each row: one rounding more, of
// a sum that has lost more.
template <int kSize, int kOwned, typename T>
__global__ void __launch_bounds__(kOwners)
    owned_backward_kernel(const T* grad, const T* x, const T* weight, const float* rstd, T* grad_x,
                          float* grad_weight, int64_t rows, int64_t width) {
  __shared__ float shared[kWarp];
  const float share = 1.0f / static_cast<float>(width);
  const int columns = static_cast<int>(width), mine = static_cast<int>(threadIdx.x) * kSize;
  const int apart = static_cast<int>(blockDim.x) * kSize;
  Pack<T, kSize> weights[kOwned]{};
  float sums[kOwned][kSize]{};
#pragma unroll
  for (int k = 0; k < kOwned; ++k) {
    if (mine + k * apart < columns) weights[k] = load<kSize>(weight + mine + k * apart);
  }
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64_t start = row * width + mine;
    const float scale = rstd[row];
    Pack<T, kSize> slopes[kOwned]{}, values[kOwned]{};
#pragma unroll
    for (int k = 0; k < kOwned; ++k) {
      if (mine + k * apart >= columns) continue;
      slopes[k] = load<kSize>(grad + start + k * apart);
      values[k] = load<kSize>(x + start + k * apart);
    }
    float dot = 0;
#pragma unroll
    for (int k = 0; k < kOwned; ++k) {
#pragma unroll
      for (int e = 0; e < kSize; ++e) {
        const float d = to_float(slopes[k].values[e]), value = to_float(values[k].values[e]);
        dot += d * to_float(weights[k].values[e]) * value;
        sums[k][e] += d * value * scale;
      }
    }
    const float along = over_block<Sum>(dot, shared) * scale * scale * share;
#pragma unroll
    for (int k = 0; k < kOwned; ++k) {
#pragma unroll
      for (int e = 0; e < kSize; ++e) {
        const float d = to_float(slopes[k].values[e]), value = to_float(values[k].values[e]);
        slopes[k].values[e] = from_float<T>(scale * (d * to_float(weights[k].values[e]) - value * along));
      }
      if (mine + k * apart < columns) store(grad_x + start + k * apart, slopes[k]);
    }
  }
  float* all = grad_weight + static_cast<int64_t>(blockIdx.x) * width + mine;
#pragma unroll
  for (int k = 0; k < kOwned; ++k) {
    if (mine + k * apart >= columns) continue;
#pragma unroll
    for (int e = 0; e < kSize; ++e) all[k * apart + e] = sums[k][e];
  }
}

// A warp takes rows a grid apart, as the heads of a model are: nobody waits for another warp, and sums stay in registers until the
// end. A lane owns each 32nd column.
template <typename T, int kOwned>
__global__ void __launch_bounds__(kWarps* kWarp)
    narrow_backward_kernel(const T* grad, const T* x, const T* weight, const float* rstd, T* grad_x,
                           float* grad_weight, int64_t rows, int64_t width) {
  __shared__ float shared[kWarps * kOwned * kWarp];
  const float share = 1.0f / static_cast<float>(width);
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  float weights[kOwned], sums[kOwned];
#pragma unroll
  for (int k = 0; k < kOwned; ++k) {
    const int column = lane + k * kWarp;
    weights[k] = column < width ? to_float(weight[column]) : 0.0f;
    sums[k] = 0;
  }
  const int64_t step = static_cast<int64_t>(gridDim.x) * kWarps;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + warp; row < rows; row += step) {
    float slopes[kOwned], values[kOwned], dot = 0;
#pragma unroll
    for (int k = 0; k < kOwned; ++k) {
      const int column = lane + k * kWarp;
      slopes[k] = column < width ? to_float(grad[row * width + column]) : 0.0f;
      values[k] = column < width ? to_float(x[row * width + column]) : 0.0f;
      dot += slopes[k] * weights[k] * values[k];
    }
    const float scale = rstd[row];
    const float along = over_warp<Sum>(dot) * scale * scale * share;
#pragma unroll
    for (int k = 0; k < kOwned; ++k) {
      const int column = lane + k * kWarp;
      sums[k] += slopes[k] * values[k] * scale;
      if (column < width)
        grad_x[row * width + column] = from_float<T>(scale * (slopes[k] * weights[k] - values[k] * along));
    }
  }
#pragma unroll
  for (int k = 0; k < kOwned; ++k) shared[(warp * kOwned + k) * kWarp + lane] = sums[k];
  __syncthreads();
  for (int column = static_cast<int>(threadIdx.x); column < width; column += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int each = 0; each < kWarps; ++each) sum += shared[each * kOwned * kWarp + column];
    grad_weight[static_cast<int64_t>(blockIdx.x) * width + column] = sum;
  }
}

template <typename T>
using Backward = void (*)(const T*, const T*, const T*, const float*, T*, float*, int64_t, int64_t);

template <typename T>
struct Choice {
  Backward<T> kernel;
  int threads;
};

// `vectors`: whether rows may be taken by them.
template <typename T>
Choice<T> choose_backward(int64_t width, bool vectors) {
  constexpr int kSize = kVector<T>;
  const auto threads = [&](int owned) { return row_threads(ceil_divide(width, owned), kOwners); };
  const auto fits = [&](int owned) { return width <= int64_t{kOwners} * owned; };
  if (width <= kNarrow / 2) return {narrow_backward_kernel<T, 4>, kWarps * kWarp};
  if (width <= kNarrow) return {narrow_backward_kernel<T, 8>, kWarps * kWarp};
  if (vectors && fits(kOwnedInVectors))
    return {owned_backward_kernel<kSize, kOwnedInVectors / kSize, T>, threads(kOwnedInVectors)};
  if (fits(kOwnedNumbers)) return {owned_backward_kernel<1, kOwnedNumbers, T>, threads(kOwnedNumbers)};
  return {rms_norm_backward_kernel<T>, kNormThreads};
}

}  // namespace

void rms_norm(Dtype dtype, const void* x, const void* weight, void* out, float* rstd, int64_t rows,
              int64_t width, float eps, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const bool vectors = width % kVector<T> == 0 && aligned(x, weight, out);
    const auto kernel = vectors ? rms_norm_kernel<kVector<T>, T> : rms_norm_kernel<1, T>;
    launch(kernel, rows, row_threads(vectors ? width / kVector<T> : width, kNormThreads), stream,
           static_cast<const T*>(x), static_cast<const T*>(weight), static_cast<T*>(out), rstd, width, eps);
  });
}

int64_t rms_norm_partials(int64_t rows, int64_t width) {
  return std::min(width <= kNarrow ? ceil_divide(rows, kWarps) : rows, kMostPartials);
}

void rms_norm_backward(Dtype dtype, const void* grad, const void* x, const void* weight, const float* rstd,
                       void* grad_x, float* grad_weight, int64_t rows, int64_t width, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const bool vectors = width % kVector<T> == 0 && aligned(grad, x, weight, grad_x);
    const auto [kernel, threads] = choose_backward<T>(width, vectors);
    launch(kernel, rms_norm_partials(rows, width), threads, stream, static_cast<const T*>(grad),
           static_cast<const T*>(x), static_cast<const T*>(weight), rstd, static_cast<T*>(grad_x),
           grad_weight, rows, width);
  });
}

}  // namespace hftrain::cuda

#include "hftrain/cuda/device.cuh"

namespace hftrain::cuda {
namespace {

constexpr float kTwiceRoot = 1.5957691216057308f;  // 2·sqrt(2/π)
constexpr float kCubic = 0.044715f;
// That a multiprocessor has registers for: were it more, ptxas would save some by waiting for one load before it begins the next.
constexpr int kBlocksAtOnce = 4;

// The quick division: what it divides by is at least 1, where it is wrong by two units in the last place at most, as expf is. Above
// 2^126 it gives 0 for what is less than 2^-126.
__device__ float sigmoid(float x) {
  return __fdividef(1.0f, 1.0f + expf(-x));
}

// The operators: kOut numbers of kIn numbers, for each element.

// x·σ(2u), u = sqrt(2/π)·(x + 0.044715·x³): x/2·(1 + tanh u).
struct GeluTanh {
  static constexpr int kIn = 1, kOut = 1;
  __device__ static void apply(const float* in, float* out) {
    const float v = in[0];
    out[0] = v * sigmoid(kTwiceRoot * (v + kCubic * v * v * v));
  }
};

// Of grad and x.
struct GeluTanhBackward {
  static constexpr int kIn = 2, kOut = 1;
  __device__ static void apply(const float* in, float* out) {
    const float v = in[1], square = v * v;
    const float s = sigmoid(kTwiceRoot * (v + kCubic * square * v));
    const float slope = s + v * s * (1.0f - s) * kTwiceRoot * (1.0f + 3.0f * kCubic * square);
    out[0] = in[0] * slope;
  }
};

// Of gate and up.
struct Swiglu {
  static constexpr int kIn = 2, kOut = 1;
  __device__ static void apply(const float* in, float* out) { out[0] = in[0] * sigmoid(in[0]) * in[1]; }
};

// grad_gate and grad_up of grad, gate and up.
struct SwigluBackward {
  static constexpr int kIn = 3, kOut = 2;
  __device__ static void apply(const float* in, float* out) {
    const float d = in[0], g = in[1], s = sigmoid(g);
    out[0] = d * in[2] * s * (1.0f + g * (1.0f - s));
    out[1] = d * g * s;
  }
};

template <typename Operator, typename T>
struct Arrays {
  const T* in[Operator::kIn];
  T* out[Operator::kOut];
};

// The packs that begin at the elements first, first + apart …
template <int kSize, int kCount, typename Operator, typename T>
__device__ void apply_to(const Arrays<Operator, T>& arrays, int64_t first, int64_t apart) {
  Pack<T, kSize> held[kCount][Operator::kIn], made[Operator::kOut];
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
#pragma unroll
    for (int i = 0; i < Operator::kIn; ++i) held[k][i] = load<kSize>(arrays.in[i] + first + k * apart);
  }
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
#pragma unroll
    for (int e = 0; e < kSize; ++e) {
      float in[Operator::kIn], out[Operator::kOut];
#pragma unroll
      for (int i = 0; i < Operator::kIn; ++i) in[i] = to_float(held[k][i].values[e]);
      Operator::apply(in, out);
#pragma unroll
      for (int i = 0; i < Operator::kOut; ++i) made[i].values[e] = from_float<T>(out[i]);
    }
#pragma unroll
    for (int i = 0; i < Operator::kOut; ++i) store(arrays.out[i] + first + k * apart, made[i]);
  }
}

// With kSize above 1 every array begins where vectors may. Elements behind the last vector are taken one by one.
template <int kSize, typename Operator, typename T>
__global__ void __launch_bounds__(kElementwiseThreads, kBlocksAtOnce)
    elements_kernel(Arrays<Operator, T> arrays, int64_t n) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t mine = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, whole = n / kSize;
  for_each_pack<kSize>(mine, whole, step, [&](auto packs, int64_t first, int64_t apart) {
    apply_to<kSize, decltype(packs)::kCount>(arrays, first, apart);
  });
  if (const int64_t behind = whole * kSize + mine; behind < n) apply_to<1, 1>(arrays, behind, 1);
}

template <typename Operator, typename T>
void start(const Arrays<Operator, T>& arrays, bool vectors, int64_t n, cudaStream_t stream) {
  const auto kernel = vectors ? elements_kernel<kVector<T>, Operator, T> : elements_kernel<1, Operator, T>;
  const int64_t blocks = elementwise_blocks(vectors ? ceil_divide(n, kVector<T>) : n);
  launch(kernel, blocks, kElementwiseThreads, stream, arrays, n);
}

// kSize of them, in vectors of floats where those are at least one.
template <int kSize>
__device__ void load_angles(const float* from, float* angles) {
  constexpr int kEach = kSize < kVector<float> ? 1 : kVector<float>;
#pragma unroll
  for (int k = 0; k < kSize; k += kEach) {
    const Pack<float, kEach> held = load<kEach>(from + k);
#pragma unroll
    for (int e = 0; e < kEach; ++e) angles[k + e] = held.values[e];
  }
}

// A block takes tokens a grid apart. A thread reads angles of the token once and turns those pairs of each head that are its own,
// kSize side by side: no division but one a token. With kSize above 1 x, out, cos, sin and each half of a head begin where vectors may.
template <int kSize, typename T>
__global__ void __launch_bounds__(kElementwiseThreads, kBlocksAtOnce)
    rotate_kernel(const T* x, const float* cos, const float* sin, T* out, RotaryShape shape, float sign) {
  const int half = static_cast<int>(shape.half), packs = half / kSize, threads = static_cast<int>(blockDim.x);
  const int lanes = packs < threads ? packs : threads, together = threads / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes, first_head = static_cast<int>(threadIdx.x) / lanes;
  if (first_head >= together) return;
  for (int64_t token = blockIdx.x; token < shape.tokens; token += gridDim.x) {
    const int64_t angles = token % shape.length * half;
    for (int i = lane; i < packs; i += lanes) {
      float c[kSize], s[kSize];
      load_angles<kSize>(cos + angles + i * kSize, c);
      load_angles<kSize>(sin + angles + i * kSize, s);
#pragma unroll
      for (int e = 0; e < kSize; ++e) {
        c[e] = to_float(from_float<T>(c[e]));
        s[e] = sign * to_float(from_float<T>(s[e]));
      }
      for (int64_t head = first_head; head < shape.heads; head += together) {
        const int64_t first = (token * shape.heads + head) * 2 * half + i * kSize, second = first + half;
        Pack<T, kSize> a = load<kSize>(x + first), b = load<kSize>(x + second);
#pragma unroll
        for (int e = 0; e < kSize; ++e) {
          const float left = to_float(a.values[e]), right = to_float(b.values[e]);
          a.values[e] = from_float<T>(left * c[e] - right * s[e]);
          b.values[e] = from_float<T>(right * c[e] + left * s[e]);
        }
        store(out + first, a);
        store(out + second, b);
      }
    }
  }
}

}  // namespace

void gelu_tanh(Dtype dtype, const void* x, void* out, int64_t n, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const Arrays<GeluTanh, T> arrays{{static_cast<const T*>(x)}, {static_cast<T*>(out)}};
    start(arrays, aligned(x, out), n, stream);
  });
}

void gelu_tanh_backward(Dtype dtype, const void* grad, const void* x, void* grad_x, int64_t n,
                        cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const Arrays<GeluTanhBackward, T> arrays{{static_cast<const T*>(grad), static_cast<const T*>(x)},
                                             {static_cast<T*>(grad_x)}};
    start(arrays, aligned(grad, x, grad_x), n, stream);
  });
}

void swiglu(Dtype dtype, const void* gate, const void* up, void* out, int64_t n, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const Arrays<Swiglu, T> arrays{{static_cast<const T*>(gate), static_cast<const T*>(up)},
                                   {static_cast<T*>(out)}};
    start(arrays, aligned(gate, up, out), n, stream);
  });
}

void swiglu_backward(Dtype dtype, const void* grad, const void* gate, const void* up, void* grad_gate,
                     void* grad_up, int64_t n, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const Arrays<SwigluBackward, T> arrays{
        {static_cast<const T*>(grad), static_cast<const T*>(gate), static_cast<const T*>(up)},
        {static_cast<T*>(grad_gate), static_cast<T*>(grad_up)}};
    start(arrays, aligned(grad, gate, up, grad_gate, grad_up), n, stream);
  });
}

void rotate(Dtype dtype, const void* x, const float* cos, const float* sin, void* out,
            const RotaryShape& shape, float sign, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const bool vectors = shape.half % kVector<T> == 0 && aligned(x, out, cos, sin);
    const auto kernel = vectors ? rotate_kernel<kVector<T>, T> : rotate_kernel<1, T>;
    const int64_t pairs = shape.heads * shape.half;  // of a token
    launch(kernel, std::min(shape.tokens, kElementwiseBlocks),
           row_threads(vectors ? pairs / kVector<T> : pairs, kElementwiseThreads), stream,
           static_cast<const T*>(x), cos, sin, static_cast<T*>(out), shape, sign);
  });
}

}  // namespace hftrain::cuda

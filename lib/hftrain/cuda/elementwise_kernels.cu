#include "hftrain/cuda/device.cuh"

namespace hftrain::cuda {
namespace {

constexpr float kTwiceRoot = 1.5957691216057308f;  // 2·sqrt(2/π)
constexpr float kCubic = 0.044715f;

__device__ float sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

// Calls body(i) for the elements of this thread.
template <typename Body>
__device__ void for_each_element(int64_t n, const Body& body) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) body(i);
}

// x·σ(2u), u = sqrt(2/π)·(x + 0.044715·x³): x/2·(1 + tanh u).
template <typename T>
__global__ void gelu_tanh_kernel(const T* x, T* out, int64_t n) {
  for_each_element(n, [=](int64_t i) {
    const float v = to_float(x[i]);
    out[i] = from_float<T>(v * sigmoid(kTwiceRoot * (v + kCubic * v * v * v)));
  });
}

template <typename T>
__global__ void gelu_tanh_backward_kernel(const T* grad, const T* x, T* grad_x, int64_t n) {
  for_each_element(n, [=](int64_t i) {
    const float v = to_float(x[i]), square = v * v;
    const float s = sigmoid(kTwiceRoot * (v + kCubic * square * v));
    const float slope = s + v * s * (1.0f - s) * kTwiceRoot * (1.0f + 3.0f * kCubic * square);
    grad_x[i] = from_float<T>(to_float(grad[i]) * slope);
  });
}

template <typename T>
__global__ void swiglu_kernel(const T* gate, const T* up, T* out, int64_t n) {
  for_each_element(n, [=](int64_t i) {
    const float g = to_float(gate[i]);
    out[i] = from_float<T>(g * sigmoid(g) * to_float(up[i]));
  });
}

template <typename T>
__global__ void swiglu_backward_kernel(const T* grad, const T* gate, const T* up, T* grad_gate, T* grad_up,
                                       int64_t n) {
  for_each_element(n, [=](int64_t i) {
    const float d = to_float(grad[i]), g = to_float(gate[i]), s = sigmoid(g);
    grad_up[i] = from_float<T>(d * g * s);
    grad_gate[i] = from_float<T>(d * to_float(up[i]) * s * (1.0f + g * (1.0f - s)));
  });
}

// A block takes tokens a grid apart. A thread reads an angle of the token once and turns that pair of each head that is its own: no
// division but one a token.
template <typename T>
__global__ void rotate_kernel(const T* x, const float* cos, const float* sin, T* out, RotaryShape shape,
                              float sign) {
  const int half = static_cast<int>(shape.half), threads = static_cast<int>(blockDim.x);
  const int lanes = half < threads ? half : threads, together = threads / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes, first_head = static_cast<int>(threadIdx.x) / lanes;
  if (first_head >= together) return;
  for (int64_t token = blockIdx.x; token < shape.tokens; token += gridDim.x) {
    const int64_t angles = token % shape.length * half;
    for (int i = lane; i < half; i += lanes) {
      const float c = to_float(from_float<T>(cos[angles + i]));
      const float s = sign * to_float(from_float<T>(sin[angles + i]));
      for (int64_t head = first_head; head < shape.heads; head += together) {
        const int64_t first = (token * shape.heads + head) * 2 * half + i, second = first + half;
        const float a = to_float(x[first]), b = to_float(x[second]);
        out[first] = from_float<T>(a * c - b * s);
        out[second] = from_float<T>(b * c + a * s);
      }
    }
  }
}

}  // namespace

void gelu_tanh(Dtype dtype, const void* x, void* out, int64_t n, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch(gelu_tanh_kernel<T>, elementwise_blocks(n), kElementwiseThreads, stream, static_cast<const T*>(x),
           static_cast<T*>(out), n);
  });
}

void gelu_tanh_backward(Dtype dtype, const void* grad, const void* x, void* grad_x, int64_t n,
                        cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch(gelu_tanh_backward_kernel<T>, elementwise_blocks(n), kElementwiseThreads, stream,
           static_cast<const T*>(grad), static_cast<const T*>(x), static_cast<T*>(grad_x), n);
  });
}

void swiglu(Dtype dtype, const void* gate, const void* up, void* out, int64_t n, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch(swiglu_kernel<T>, elementwise_blocks(n), kElementwiseThreads, stream, static_cast<const T*>(gate),
           static_cast<const T*>(up), static_cast<T*>(out), n);
  });
}

void swiglu_backward(Dtype dtype, const void* grad, const void* gate, const void* up, void* grad_gate,
                     void* grad_up, int64_t n, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch(swiglu_backward_kernel<T>, elementwise_blocks(n), kElementwiseThreads, stream,
           static_cast<const T*>(grad), static_cast<const T*>(gate), static_cast<const T*>(up),
           static_cast<T*>(grad_gate), static_cast<T*>(grad_up), n);
  });
}

void rotate(Dtype dtype, const void* x, const float* cos, const float* sin, void* out,
            const RotaryShape& shape, float sign, cudaStream_t stream) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    const int64_t blocks = std::min(shape.tokens, kElementwiseBlocks);
    launch(rotate_kernel<T>, blocks, kElementwiseThreads, stream, static_cast<const T*>(x), cos, sin,
           static_cast<T*>(out), shape, sign);
  });
}

}  // namespace hftrain::cuda

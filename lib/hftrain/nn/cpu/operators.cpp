#include "hftrain/nn/cpu/operators.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "hftrain/nn/cpu/cross_entropy_kernel.h"
#include "hftrain/nn/cpu/gelu_kernel.h"
#include "hftrain/nn/cpu/rms_norm_kernel.h"
#include "hftrain/nn/cpu/rotary_kernel.h"
#include "hftrain/nn/cpu/swiglu_kernel.h"
#include "hftrain/nn/loss.h"

namespace hftrain::nn::cpu {
namespace {

using Pair = std::tuple<at::Tensor, at::Tensor>;

constexpr int64_t kNormGrain = 8192;         // elements that are worth a thread
constexpr int64_t kActivationGrain = 16384;  // the same, of an activation
constexpr int64_t kRotationGrain = 32;       // tokens
constexpr int64_t kStrip = 1024;  // numbers that are widened at once; the first cache holds some of these

int64_t row_grain(int64_t width) {
  return std::max<int64_t>(1, kNormGrain / width);
}

const uint16_t* bits_of(const at::Tensor& tensor) {
  return reinterpret_cast<const uint16_t*>(tensor.const_data_ptr<c10::BFloat16>());
}

uint16_t* bits_of(at::Tensor& tensor) {
  return reinterpret_cast<uint16_t*>(tensor.data_ptr<c10::BFloat16>());
}

template <size_t inputs, size_t outputs>
struct Strips {
  std::array<const float*, inputs> in;
  std::array<float*, outputs> out;
  int64_t first, count;  // elements of the tensors
};

// Calls loop(strip) for elements `begin` to `end`: of tensors of float32 once, where they lie; of bfloat16 `length` at a
// time, in float32, rounded on the way back.
template <size_t inputs, size_t outputs, typename Loop>
void for_strips(const std::array<at::Tensor, inputs>& from, std::array<at::Tensor, outputs>& to,
                int64_t begin, int64_t end, int64_t length, const Loop& loop) {
  Strips<inputs, outputs> strip{{}, {}, begin, end - begin};
  if (from[0].scalar_type() == at::kFloat) {
    for (size_t i = 0; i < inputs; ++i) strip.in[i] = from[i].template const_data_ptr<float>() + begin;
    for (size_t i = 0; i < outputs; ++i) strip.out[i] = to[i].template data_ptr<float>() + begin;
    loop(strip);
    return;
  }
  std::vector<float> memory(static_cast<size_t>((inputs + outputs) * length));
  for (size_t i = 0; i < inputs; ++i) strip.in[i] = memory.data() + i * length;
  for (size_t i = 0; i < outputs; ++i) strip.out[i] = memory.data() + (inputs + i) * length;
  for (; strip.first < end; strip.first += length) {
    strip.count = std::min(length, end - strip.first);
    for (size_t i = 0; i < inputs; ++i) {
      widen(bits_of(from[i]) + strip.first, memory.data() + i * length, strip.count);
    }
    loop(strip);
    for (size_t i = 0; i < outputs; ++i) {
      round_to_bfloat16(strip.out[i], bits_of(to[i]) + strip.first, strip.count);
    }
  }
}

// The same over all elements of tensors of one shape, by threads.
template <size_t inputs, size_t outputs, typename Loop>
void for_all_strips(const std::array<at::Tensor, inputs>& from, std::array<at::Tensor, outputs> to,
                    const Loop& loop) {
  at::parallel_for(0, from[0].numel(), kActivationGrain,
                   [&](int64_t begin, int64_t end) { for_strips(from, to, begin, end, kStrip, loop); });
}

Pair rms_norm_operator(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const int64_t width = x.size(-1), rows = x.numel() / width;
  at::Tensor out = at::empty_like(x), rstd = at::empty({rows}, x.options().dtype(at::kFloat));
  const at::Tensor scale = weight.to(at::kFloat);
  float* kept = rstd.data_ptr<float>();
  std::array<at::Tensor, 1> to{out};
  at::parallel_for(0, rows, row_grain(width), [&](int64_t begin, int64_t end) {
    for_strips<1, 1>({x}, to, begin * width, end * width, width, [&](const Strips<1, 1>& strip) {
      rms_norm(strip.in[0], scale.const_data_ptr<float>(), strip.out[0], kept + strip.first / width,
               strip.count / width, width, static_cast<float>(eps));
    });
  });
  return {out, rstd};
}

Pair rms_norm_backward_operator(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& rstd) {
  const int64_t width = x.size(-1), rows = rstd.numel();
  at::Tensor grad_x = at::empty_like(x);
  at::Tensor partial = at::zeros({at::get_num_threads(), width}, rstd.options());
  const at::Tensor scale = weight.to(at::kFloat);
  const float* kept = rstd.const_data_ptr<float>();
  float* dw = partial.data_ptr<float>();
  std::array<at::Tensor, 1> to{grad_x};
  at::parallel_for(0, rows, row_grain(width), [&](int64_t begin, int64_t end) {
    for_strips<2, 1>({grad, x}, to, begin * width, end * width, width, [&](const Strips<2, 1>& strip) {
      rms_norm_backward(strip.in[0], strip.in[1], scale.const_data_ptr<float>(), kept + strip.first / width,
                        strip.out[0], dw + at::get_thread_num() * width, strip.count / width, width);
    });
  });
  return {grad_x, partial.sum(0).to(weight.scalar_type())};
}

template <void (*loop)(const float*, float*, int64_t)>
at::Tensor gelu_operator(const at::Tensor& x) {
  at::Tensor out = at::empty_like(x);
  for_all_strips<1, 1>({x}, {out}, [](const auto& strip) { loop(strip.in[0], strip.out[0], strip.count); });
  return out;
}

template <void (*loop)(const float*, const float*, float*, int64_t)>
at::Tensor gelu_backward_operator(const at::Tensor& grad, const at::Tensor& x) {
  at::Tensor grad_x = at::empty_like(x);
  for_all_strips<2, 1>({grad, x}, {grad_x},
                       [](const auto& strip) { loop(strip.in[0], strip.in[1], strip.out[0], strip.count); });
  return grad_x;
}

at::Tensor swiglu_operator(const at::Tensor& gate, const at::Tensor& up) {
  at::Tensor out = at::empty_like(gate);
  for_all_strips<2, 1>({gate, up}, {out}, [](const auto& strip) {
    swiglu(strip.in[0], strip.in[1], strip.out[0], strip.count);
  });
  return out;
}

Pair swiglu_backward_operator(const at::Tensor& grad, const at::Tensor& gate, const at::Tensor& up) {
  at::Tensor grad_gate = at::empty_like(gate), grad_up = at::empty_like(up);
  for_all_strips<3, 2>({grad, gate, up}, {grad_gate, grad_up}, [](const auto& strip) {
    swiglu_backward(strip.in[0], strip.in[1], strip.in[2], strip.out[0], strip.out[1], strip.count);
  });
  return {grad_gate, grad_up};
}

// Angles as numbers of `dtype`, in float32.
at::Tensor rounded_angles(const at::Tensor& angles, at::ScalarType dtype) {
  return angles.to(dtype).to(at::kFloat);
}

at::Tensor rotate_operator(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, bool inverse) {
  const int64_t length = x.size(1), heads = x.size(2), half = x.size(3) / 2, token = heads * 2 * half;
  at::Tensor out = at::empty_like(x);
  const at::Tensor cosines = rounded_angles(cos, x.scalar_type());
  const at::Tensor sines = rounded_angles(sin, x.scalar_type());
  const float* c = cosines.const_data_ptr<float>();
  const float* s = sines.const_data_ptr<float>();
  std::array<at::Tensor, 1> to{out};
  const auto turn = [&](const Strips<1, 1>& strip) {
    for (int64_t at = 0; at < strip.count; at += token) {
      const int64_t angle = (strip.first + at) / token % length * half;
      rotate_token(strip.in[0] + at, strip.out[0] + at, c + angle, s + angle, inverse ? -1.0f : 1.0f, heads,
                   half);
    }
  };
  at::parallel_for(0, x.size(0) * length, kRotationGrain, [&](int64_t begin, int64_t end) {
    for_strips<1, 1>({x}, to, begin * token, end * token, token, turn);
  });
  return out;
}

float loss_of_row(float* line, int64_t target, const CrossEntropyRow& row, bool gradient) {
  return gradient ? cross_entropy_with_gradient(line, target, row) : cross_entropy(line, target, row);
}

// Rows of logits, as they lie.
template <typename T>
struct LogitRows {
  T* first = nullptr;
  int64_t count = 0, stride = 0;
};

void losses_of_rows(const LogitRows<float>& rows, const int64_t* targets, const CrossEntropyRow& row,
                    bool gradient, float* losses) {
  float* x = rows.first;
  for (int64_t i = 0; i < rows.count; ++i, x += rows.stride) {
    if (targets[i] != kIgnoreIndex) {
      losses[i] = loss_of_row(x, targets[i], row, gradient);
    } else if (gradient) {
      std::fill_n(x, row.vocab, 0.0f);
    }
  }
}

// The same of bfloat16, a row at a time in float32.
void losses_of_rows(const LogitRows<c10::BFloat16>& rows, const int64_t* targets, const CrossEntropyRow& row,
                    bool gradient, float* losses) {
  std::vector<float> line(static_cast<size_t>(row.vocab));
  auto* bits = reinterpret_cast<uint16_t*>(rows.first);
  for (int64_t i = 0; i < rows.count; ++i, bits += rows.stride) {
    if (targets[i] != kIgnoreIndex) {
      widen(bits, line.data(), row.vocab);
      losses[i] = loss_of_row(line.data(), targets[i], row, gradient);
      if (gradient) round_to_bfloat16(line.data(), bits, row.vocab);
    } else if (gradient) {
      std::fill_n(bits, row.vocab, uint16_t{0});
    }
  }
}

// The sum of the rows' losses; the logits become gradients when `gradient`. Each row's loss is kept, so that
// the sum has the same order whatever thread computed what.
at::Tensor cross_entropy_rows(const at::Tensor& logits, const at::Tensor& targets, const CrossEntropyRow& row,
                              bool gradient) {
  const int64_t rows = logits.size(0), stride = logits.stride(0);
  at::Tensor losses = at::zeros({rows}, logits.options().dtype(at::kFloat));
  float* loss = losses.data_ptr<float>();
  const int64_t* target = targets.const_data_ptr<int64_t>();
  const auto run = [&]<typename T>(T* x) {
    at::parallel_for(0, rows, 1, [&](int64_t begin, int64_t end) {
      losses_of_rows(LogitRows<T>{x + begin * stride, end - begin, stride}, target + begin, row, gradient,
                     loss + begin);
    });
  };
  if (logits.scalar_type() == at::kBFloat16) {
    run(logits.data_ptr<c10::BFloat16>());
  } else {
    run(logits.data_ptr<float>());
  }
  double sum = 0;
  for (int64_t i = 0; i < rows; ++i) sum += loss[i];
  return at::scalar_tensor(sum, logits.options().dtype(at::kDouble));
}

at::Tensor cross_entropy_operator(const at::Tensor& logits, const at::Tensor& targets, double smoothing) {
  return cross_entropy_rows(logits, targets, {logits.size(1), static_cast<float>(smoothing), 1.0f}, false);
}

at::Tensor cross_entropy_with_gradient_operator(const at::Tensor& logits, const at::Tensor& targets,
                                                const at::Tensor& scale, double smoothing) {
  return cross_entropy_rows(logits, targets,
                            {logits.size(1), static_cast<float>(smoothing), scale.item<float>()}, true);
}

}  // namespace

void register_operators(torch::Library& library) {
  library.impl("rms_norm", rms_norm_operator);
  library.impl("rms_norm_backward", rms_norm_backward_operator);
  library.impl("gelu", gelu_operator<gelu>);
  library.impl("gelu_backward", gelu_backward_operator<gelu_backward>);
  library.impl("gelu_tanh", gelu_operator<gelu_tanh>);
  library.impl("gelu_tanh_backward", gelu_backward_operator<gelu_tanh_backward>);
  library.impl("swiglu", swiglu_operator);
  library.impl("swiglu_backward", swiglu_backward_operator);
  library.impl("rotate", rotate_operator);
  library.impl("cross_entropy", cross_entropy_operator);
  library.impl("cross_entropy_with_gradient_", cross_entropy_with_gradient_operator);
}

}  // namespace hftrain::nn::cpu

#include "hftrain/nn/cpu/operators.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
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

int64_t row_grain(int64_t width) {
  return std::max<int64_t>(1, kNormGrain / width);
}

Pair rms_norm_operator(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const int64_t width = x.size(-1), rows = x.numel() / width;
  at::Tensor out = at::empty_like(x), rstd = at::empty({rows}, x.options());
  const float* source = x.const_data_ptr<float>();
  const float* scale = weight.const_data_ptr<float>();
  float* target = out.data_ptr<float>();
  float* kept = rstd.data_ptr<float>();
  at::parallel_for(0, rows, row_grain(width), [&](int64_t begin, int64_t end) {
    rms_norm(source + begin * width, scale, target + begin * width, kept + begin, end - begin, width,
             static_cast<float>(eps));
  });
  return {out, rstd};
}

Pair rms_norm_backward_operator(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& rstd) {
  const int64_t width = x.size(-1), rows = rstd.numel();
  at::Tensor grad_x = at::empty_like(x);
  at::Tensor partial = at::zeros({at::get_num_threads(), width}, grad.options());
  const float* d = grad.const_data_ptr<float>();
  const float* source = x.const_data_ptr<float>();
  const float* scale = weight.const_data_ptr<float>();
  const float* kept = rstd.const_data_ptr<float>();
  float* dx = grad_x.data_ptr<float>();
  float* dw = partial.data_ptr<float>();
  at::parallel_for(0, rows, row_grain(width), [&](int64_t begin, int64_t end) {
    const int64_t at = begin * width;
    rms_norm_backward(d + at, source + at, scale, kept + begin, dx + at, dw + at::get_thread_num() * width,
                      end - begin, width);
  });
  return {grad_x, partial.sum(0)};
}

template <void (*loop)(const float*, float*, int64_t)>
at::Tensor gelu_operator(const at::Tensor& x) {
  at::Tensor out = at::empty_like(x);
  const float* source = x.const_data_ptr<float>();
  float* target = out.data_ptr<float>();
  at::parallel_for(0, x.numel(), kActivationGrain,
                   [&](int64_t begin, int64_t end) { loop(source + begin, target + begin, end - begin); });
  return out;
}

template <void (*loop)(const float*, const float*, float*, int64_t)>
at::Tensor gelu_backward_operator(const at::Tensor& grad, const at::Tensor& x) {
  at::Tensor grad_x = at::empty_like(x);
  const float* d = grad.const_data_ptr<float>();
  const float* source = x.const_data_ptr<float>();
  float* dx = grad_x.data_ptr<float>();
  at::parallel_for(0, x.numel(), kActivationGrain, [&](int64_t begin, int64_t end) {
    loop(d + begin, source + begin, dx + begin, end - begin);
  });
  return grad_x;
}

at::Tensor swiglu_operator(const at::Tensor& gate, const at::Tensor& up) {
  at::Tensor out = at::empty_like(gate);
  const float* g = gate.const_data_ptr<float>();
  const float* u = up.const_data_ptr<float>();
  float* o = out.data_ptr<float>();
  at::parallel_for(0, gate.numel(), kActivationGrain,
                   [&](int64_t begin, int64_t end) { swiglu(g + begin, u + begin, o + begin, end - begin); });
  return out;
}

Pair swiglu_backward_operator(const at::Tensor& grad, const at::Tensor& gate, const at::Tensor& up) {
  at::Tensor grad_gate = at::empty_like(gate), grad_up = at::empty_like(up);
  const float* d = grad.const_data_ptr<float>();
  const float* g = gate.const_data_ptr<float>();
  const float* u = up.const_data_ptr<float>();
  float* dg = grad_gate.data_ptr<float>();
  float* du = grad_up.data_ptr<float>();
  at::parallel_for(0, grad.numel(), kActivationGrain, [&](int64_t begin, int64_t end) {
    swiglu_backward(d + begin, g + begin, u + begin, dg + begin, du + begin, end - begin);
  });
  return {grad_gate, grad_up};
}

at::Tensor rotate_operator(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, bool inverse) {
  const int64_t length = x.size(1), heads = x.size(2), half = x.size(3) / 2;
  at::Tensor out = at::empty_like(x);
  const float* source = x.const_data_ptr<float>();
  const float* c = cos.const_data_ptr<float>();
  const float* s = sin.const_data_ptr<float>();
  float* target = out.data_ptr<float>();
  at::parallel_for(0, x.size(0) * length, kRotationGrain, [&](int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token) {
      const int64_t at = token * heads * 2 * half, angle = (token % length) * half;
      rotate_token(source + at, target + at, c + angle, s + angle, inverse ? -1.0f : 1.0f, heads, half);
    }
  });
  return out;
}

float loss_of_row(float* line, int64_t target, const CrossEntropyRow& row, bool gradient) {
  return gradient ? cross_entropy_with_gradient(line, target, row) : cross_entropy(line, target, row);
}

void losses_of_rows(float* x, const int64_t* targets, int64_t rows, const CrossEntropyRow& row, bool gradient,
                    float* losses) {
  for (int64_t i = 0; i < rows; ++i, x += row.vocab) {
    if (targets[i] != kIgnoreIndex) {
      losses[i] = loss_of_row(x, targets[i], row, gradient);
    } else if (gradient) {
      std::fill_n(x, row.vocab, 0.0f);
    }
  }
}

// The same of bfloat16, a row at a time in float32.
void losses_of_rows(c10::BFloat16* x, const int64_t* targets, int64_t rows, const CrossEntropyRow& row,
                    bool gradient, float* losses) {
  std::vector<float> line(static_cast<size_t>(row.vocab));
  auto* bits = reinterpret_cast<uint16_t*>(x);
  for (int64_t i = 0; i < rows; ++i, bits += row.vocab) {
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
  const int64_t rows = logits.size(0);
  at::Tensor losses = at::zeros({rows}, logits.options().dtype(at::kFloat));
  float* loss = losses.data_ptr<float>();
  const int64_t* target = targets.const_data_ptr<int64_t>();
  const auto run = [&](auto* x) {
    at::parallel_for(0, rows, 1, [&](int64_t begin, int64_t end) {
      losses_of_rows(x + begin * row.vocab, target + begin, end - begin, row, gradient, loss + begin);
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

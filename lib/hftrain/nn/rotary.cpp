#include "hftrain/nn/rotary.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/where.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "hftrain/nn/ops.h"

namespace hftrain::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Frequencies below the band are divided by the factor, above it kept, within it blended: the scaling that configs call llama3.
at::Tensor banded_frequencies(const at::Tensor& base, const RotarySetting& setting) {
  const double length = static_cast<double>(setting.original_max_position);
  const at::Tensor wavelength = 2 * std::numbers::pi / base;
  const at::Tensor smooth =
      (length / wavelength - setting.low_freq_factor) / (setting.high_freq_factor - setting.low_freq_factor);
  const at::Tensor blended = (1 - smooth) * base / setting.factor + smooth * base;
  const at::Tensor low = wavelength > length / setting.low_freq_factor;
  const at::Tensor high = wavelength < length / setting.high_freq_factor;
  return at::where(low, base / setting.factor, at::where(high, base, blended));
}

// Which of the frequencies, by number, turns so many times in the original length.
double number_of_turns(const RotarySetting& setting, double turns, int64_t head_dim) {
  const double length = static_cast<double>(setting.original_max_position);
  return static_cast<double>(head_dim) * std::log(length / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(setting.theta));
}

// YaRN's: from one number on to another the base's pass into those that are divided by the factor.
at::Tensor yarn_frequencies(const at::Tensor& base, const RotarySetting& setting, int64_t head_dim) {
  double first = number_of_turns(setting, setting.beta_fast, head_dim);
  double last = number_of_turns(setting, setting.beta_slow, head_dim);
  if (setting.truncate) first = std::floor(first), last = std::ceil(last);
  first = std::max(first, 0.0);
  last = std::min(last, static_cast<double>(head_dim - 1));
  if (first == last) last += 0.001;
  const at::Tensor numbers = at::arange(base.size(0), at::kFloat);
  const at::Tensor divided = ((numbers - first) / (last - first)).clamp(0, 1);
  return base / setting.factor * divided + base * (1 - divided);
}

at::Tensor frequencies(const RotarySetting& setting, int64_t head_dim) {
  const at::Tensor exponent = at::arange(0, head_dim, 2, at::kFloat) / static_cast<double>(head_dim);
  const at::Tensor base = 1.0 / at::pow(setting.theta, exponent);
  switch (setting.scaling) {
    case RotaryScaling::kNone:
      return base;
    case RotaryScaling::kLinear:
      return base / setting.factor;
    case RotaryScaling::kBanded:
      return banded_frequencies(base, setting);
    case RotaryScaling::kYarn:
      return yarn_frequencies(base, setting, head_dim);
  }
  return base;
}

// x [B, T, H, d]; cos and sin [T, d/2] or [B, T, d/2].
at::Tensor turned(const at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines) {
  const int64_t half = x.size(3) / 2;
  const at::Tensor cos = cosines.unsqueeze(-2).to(x.scalar_type());
  const at::Tensor sin = sines.unsqueeze(-2).to(x.scalar_type());
  // Both at once: of two narrow()s each fills a gradient of the whole with zeros.
  const std::vector<at::Tensor> halves = x.unflatten(3, {2, half}).unbind(3);
  const at::Tensor &first = halves[0], &second = halves[1];
  return at::cat({first * cos - second * sin, second * cos + first * sin}, 3);
}

// A rotation is orthogonal, whatever its length: its backward turns the gradient back, and nothing of x is kept.
struct Rotate : Function<Rotate> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& cos,
                            const at::Tensor& sin) {
    ctx->saved_data["cos"] = cos;
    ctx->saved_data["sin"] = sin;
    return ops::rotate(x, cos, sin, /*inverse=*/false);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor cos = ctx->saved_data["cos"].toTensor(), sin = ctx->saved_data["sin"].toTensor();
    return {ops::rotate(grads[0].contiguous(), cos, sin, /*inverse=*/true), at::Tensor(), at::Tensor()};
  }
};

// As turned(), contiguous, by tables in float32: a device's kernels promote as they read, where a CPU makes copies first. `sign` -1
// turns back.
at::Tensor turned_on_device(const at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines,
                            double sign) {
  const int64_t half = x.size(3) / 2;
  const at::Tensor cos = cosines.unsqueeze(-2), sin = sines.unsqueeze(-2);
  at::Tensor out = at::empty(x.sizes(), x.options());
  const at::Tensor read = x.unflatten(3, {2, half}), written = out.view(read.sizes());
  at::Tensor both = written, first = written.select(3, 0), second = written.select(3, 1);
  at::mul_out(both, read, cos.unsqueeze(-2));
  first.addcmul_(read.select(3, 1), sin, -sign);
  second.addcmul_(read.select(3, 0), sin, sign);
  return out;
}

// Rotate by ATen's kernels.
struct RotateComposed : Function<RotateComposed> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& cos,
                            const at::Tensor& sin) {
    ctx->saved_data["cos"] = cos;
    ctx->saved_data["sin"] = sin;
    return turned_on_device(x, cos, sin, 1);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor cos = ctx->saved_data["cos"].toTensor(), sin = ctx->saved_data["sin"].toTensor();
    return {turned_on_device(grads[0], cos, sin, -1), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

RotaryTables make_rotary_tables(const RotarySetting& setting, int64_t head_dim, int64_t length,
                                at::Device device) {
  const at::Tensor angles = at::outer(at::arange(length, at::kFloat), frequencies(setting, head_dim));
  const auto scaled = [&](const at::Tensor& of_angles) {
    return (setting.attention_factor == 1 ? of_angles : of_angles * setting.attention_factor).to(device);
  };
  return {scaled(at::cos(angles)), scaled(at::sin(angles))};
}

at::Tensor rotate(const at::Tensor& x, const RotaryTables& tables, Kernels kernels) {
  if (kernels == Kernels::kFused && ops::has_kernel(ops::Operator::kRotate, x)) {
    return Rotate::apply(x.contiguous(), tables.cos, tables.sin);
  }
  if (kernels != Kernels::kReference && !x.is_cpu()) return rotate_on_device(x, tables);
  const RotaryTables here = tables.part(0, x.size(1));
  return turned(x, here.cos, here.sin);
}

at::Tensor rotate_on_device(const at::Tensor& x, const RotaryTables& tables) {
  const RotaryTables here = tables.part(0, x.size(1));
  return RotateComposed::apply(x, here.cos, here.sin);
}

RotaryTables tables_at(const RotaryTables& tables, const at::Tensor& positions) {
  const at::Tensor places = positions.reshape({-1});
  return {tables.cos.index_select(0, places), tables.sin.index_select(0, places)};
}

// All rows as one.
at::Tensor rotate_each(const at::Tensor& x, const RotaryTables& own, Kernels kernels) {
  return rotate(x.reshape({1, -1, x.size(2), x.size(3)}), own, kernels).view(x.sizes());
}

}  // namespace hftrain::nn

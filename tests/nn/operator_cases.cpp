#include "operator_cases.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/function.h>

#include <cmath>

#include "hftrain/nn/activation.h"
#include "hftrain/nn/head_loss.h"
#include "hftrain/nn/linear.h"
#include "hftrain/nn/norm.h"
#include "hftrain/nn/rotary.h"
#include "support/catch.h"

namespace hftrain::nn::cases {
namespace {

using ops::Operator;

at::Tensor noise(at::IntArrayRef shape, uint64_t seed) {
  return at::randn(shape, at::detail::createCPUGenerator(seed), at::kDouble);
}

// Every third has no target.
at::Tensor some_targets(const at::Tensor& hidden, int64_t classes) {
  const at::Tensor index = at::arange(hidden.numel() / hidden.size(-1), at::kLong);
  return (index * 7)
      .remainder(classes)
      .masked_fill(index.remainder(3) == 1, kIgnoreIndex)
      .to(hidden.device());
}

OperatorCase loss_case(const std::string& name, bool bias, double smoothing, bool by_probability = false) {
  return {name, Operator::kCrossEntropy,
          [bias](int64_t rows, int64_t width) {
            Tensors values{noise({rows, 6}, 1), noise({width + 1, 6}, 2)};
            if (bias) values.push_back(noise({width + 1}, 3));
            return values;
          },
          [bias, smoothing, by_probability](const Tensors& in, Kernels kernels) {
            LossOptions options;
            options.label_smoothing = smoothing;
            options.by_probability = by_probability;
            const at::Tensor targets = some_targets(in[0], in[1].size(0));
            return head_loss(in[0], in[1], bias ? in[2] : at::Tensor(), targets, options, kernels);
          },
          by_probability};
}

std::vector<OperatorCase> kernel_cases() {
  return {
      {"rms_norm", Operator::kRmsNorm,
       [](int64_t rows, int64_t width) {
         return Tensors{noise({rows, 3, width}, 1), noise({width}, 2)};
       },
       [](const Tensors& in, Kernels kernels) { return rms_norm(in[0], in[1], 1e-6, kernels); }},
      {"gelu", Operator::kGelu,
       [](int64_t rows, int64_t width) {
         return Tensors{noise({rows, width}, 1) * 3};
       },
       [](const Tensors& in, Kernels kernels) { return activate(Activation::kGelu, in[0], kernels); }},
      {"gelu_tanh", Operator::kGeluTanh,
       [](int64_t rows, int64_t width) {
         return Tensors{noise({rows, width}, 1) * 3};
       },
       [](const Tensors& in, Kernels kernels) { return activate(Activation::kGeluTanh, in[0], kernels); }},
      {"swiglu", Operator::kSwiglu,
       [](int64_t rows, int64_t width) {
         return Tensors{noise({rows, width}, 1) * 3, noise({rows, width}, 2)};
       },
       [](const Tensors& in, Kernels kernels) { return gated(Activation::kSilu, in[0], in[1], kernels); }},
      {"rotate", Operator::kRotate,
       [](int64_t rows, int64_t width) {
         return Tensors{noise({2, rows, 3, 2 * width}, 1)};
       },
       [](const Tensors& in, Kernels kernels) {
         return rotate(in[0], make_rotary_tables({}, in[0].size(3), 1500, in[0].device()), kernels);
       }},
      loss_case("head_loss", false, 0),
      loss_case("head_loss with a bias", true, 0),
      loss_case("head_loss, smoothed", false, 0.1),
      loss_case("head_loss by probability", true, 0, true),
  };
}

std::vector<OperatorCase> product_cases() {
  const auto no_bias = [](int64_t rows, int64_t width) {
    return Tensors{noise({rows, 2, 8}, 1), noise({rows, 2, width}, 2), noise({8, width}, 3)};
  };
  return {
      {"conv1d_add", std::nullopt,
       [](int64_t rows, int64_t width) {
         return Tensors{noise({rows, 2, 8}, 1), noise({rows, 2, width}, 2), noise({width, 8}, 3),
                        noise({8}, 4)};
       },
       [](const Tensors& in, Kernels kernels) { return conv1d_add(in[0], in[1], in[2], in[3], kernels); }},
      {"linear_add", std::nullopt, no_bias,
       [](const Tensors& in, Kernels kernels) {
         return linear_add(in[0], in[1], in[2], at::Tensor(), kernels);
       }},
      {"linear_add with a bias", std::nullopt,
       [no_bias](int64_t rows, int64_t width) {
         Tensors values = no_bias(rows, width);
         values.push_back(noise({8}, 4));
         return values;
       },
       [](const Tensors& in, Kernels kernels) { return linear_add(in[0], in[1], in[2], in[3], kernels); }},
      {"linear_many", std::nullopt,
       [](int64_t rows, int64_t width) {
         return Tensors{noise({rows, 2, width}, 1), noise({6, width}, 2), noise({4, width}, 3)};
       },
       [](const Tensors& in, Kernels kernels) {
         return at::cat(linear_many(in[0], {in[1], in[2]}, {at::Tensor(), at::Tensor()}, kernels), -1);
       }},
      {"linear_many with biases", std::nullopt,
       [](int64_t rows, int64_t width) {
         return Tensors{noise({rows, 2, width}, 1), noise({6, width}, 2), noise({4, width}, 3), noise({6}, 4),
                        noise({4}, 5)};
       },
       [](const Tensors& in, Kernels kernels) {
         return at::cat(linear_many(in[0], {in[1], in[2]}, {in[3], in[4]}, kernels), -1);
       }},
  };
}

at::Tensor laid_out(const at::Tensor& value, Layout layout) {
  switch (layout) {
    case Layout::kContiguous:
      return value.contiguous();
    case Layout::kEverySecond:
      return at::stack({value, at::zeros_like(value)}, -1).select(-1, 0);
    case Layout::kTransposed:
      return value.dim() < 2 ? value : value.transpose(0, -1).contiguous().transpose(0, -1);
  }
  return value;
}

// Output, then the gradients of Σ output·weights for fixed weights, in float64 on the CPU.
Tensors evaluate(const OperatorCase& each, const Tensors& values, Kernels kernels) {
  Tensors leaves, result;
  for (const at::Tensor& value : values) leaves.push_back(value.detach().requires_grad_(true));
  const at::Tensor output = each.apply(leaves, kernels);
  const at::Tensor weights = noise(output.sizes(), 99).to(output.options());
  output.backward(weights);
  result.push_back(output.detach().to(at::kCPU, at::kDouble));
  for (const at::Tensor& leaf : leaves) {
    REQUIRE(leaf.grad().defined());
    CHECK(leaf.grad().scalar_type() == leaf.scalar_type());
    result.push_back(leaf.grad().to(at::kCPU, at::kDouble));
  }
  return result;
}

double tolerance_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return 1e-12;
    case at::kFloat:
      return 2e-5;
    case at::kHalf:
      return 8e-3;
    default:
      return 6e-2;
  }
}

// Of two tensors of float64, NaN in the same places.
void check_close(const at::Tensor& actual, const at::Tensor& expected, double tolerance) {
  REQUIRE(actual.sizes() == expected.sizes());
  if (actual.numel() == 0) return;
  CHECK(actual.isnan().equal(expected.isnan()));
  const at::Tensor wanted = expected.nan_to_num(0);
  const double worst = (actual.nan_to_num(0) - wanted).abs().max().item<double>();
  CHECK(worst <= tolerance * std::max(1.0, wanted.abs().max().item<double>()));
}

Tensors prepared(const Tensors& values, at::Device device, at::ScalarType dtype, Layout layout) {
  Tensors result;
  for (const at::Tensor& value : values) result.push_back(laid_out(value.to(dtype).to(device), layout));
  return result;
}

struct Scene {
  const OperatorCase& each;
  at::Device device;
  at::ScalarType dtype;
  bool kernel;  // whether one runs
};

void check_forms(const Scene& scene, const Tensors& values, Layout layout) {
  const Tensors inputs = prepared(values, scene.device, scene.dtype, layout);
  Tensors wide;
  for (const at::Tensor& input : inputs) wide.push_back(input.to(at::kCPU, at::kDouble).contiguous());
  const Tensors expected = evaluate(scene.each, wide, Kernels::kReference);
  const Tensors composed = evaluate(scene.each, inputs, Kernels::kReference);
  const Tensors fused = evaluate(scene.each, inputs, Kernels::kFused);
  for (size_t i = 0; i < expected.size(); ++i) {
    INFO("layout " << static_cast<int>(layout) << ", tensor " << i << " (0: output, then gradients)");
    check_close(composed[i], expected[i], tolerance_of(scene.dtype));
    check_close(fused[i], expected[i], tolerance_of(scene.dtype));
  }
}

// By the name of the node that the output's gradient starts from: those of Functions are C++ classes of ours.
void check_which_form_runs(const Scene& scene) {
  Tensors leaves;
  for (const at::Tensor& value : prepared(scene.each.inputs(3, 8), scene.device, scene.dtype, {})) {
    leaves.push_back(value.requires_grad_(true));
  }
  const auto ours = [&](Kernels kernels) {
    return scene.each.apply(leaves, kernels).grad_fn()->name().find("hftrain") != std::string::npos;
  };
  CHECK_FALSE(ours(Kernels::kReference));
  const bool composed = scene.each.kernel == Operator::kCrossEntropy ||
                        (scene.each.kernel == Operator::kRotate && !scene.device.is_cpu());
  const bool expected = composed || scene.kernel;
  if (scene.each.kernel) CHECK(ours(Kernels::kFused) == expected);
}

}  // namespace

const std::vector<OperatorCase>& operator_cases() {
  static const std::vector<OperatorCase> cases = [] {
    std::vector<OperatorCase> all = kernel_cases();
    for (OperatorCase& each : product_cases()) all.push_back(std::move(each));
    return all;
  }();
  return cases;
}

void check_operator(const OperatorCase& each, at::Device device, at::ScalarType dtype) {
  const Scene scene{each, device, dtype, each.kernel && ops::has_kernel(*each.kernel, device.type(), dtype)};
  check_which_form_runs(scene);
  for (const int64_t width : {1, 7, 33, 129}) {
    INFO("width " << width);
    for (const Layout layout : {Layout::kContiguous, Layout::kEverySecond, Layout::kTransposed}) {
      check_forms(scene, each.inputs(5, width), layout);
    }
  }
  check_forms(scene, each.inputs(1200, 24), Layout::kContiguous);  // work for every thread
  check_forms(scene, each.inputs(0, 8), Layout::kContiguous);
  Tensors big = each.inputs(4, 40), broken = each.inputs(4, 40);
  for (at::Tensor& value : big) value.mul_(dtype == at::kFloat || dtype == at::kDouble ? 300.0 : 4.0);
  check_forms(scene, big, Layout::kContiguous);
  broken[0].view(-1)[0] = NAN;
  check_forms(scene, broken, Layout::kContiguous);
}

}  // namespace hftrain::nn::cases

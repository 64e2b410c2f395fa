#include "hftrain/nn/linear.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "hftrain/nn/cpu/sgemm.h"
#include "hftrain/nn/dropout.h"
#include "hftrain/nn/module_observer.h"
#include "hftrain/nn/product.h"

namespace hftrain::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

at::Tensor as_matrix(const at::Tensor& x) {
  return x.reshape({-1, x.size(-1)});
}

at::Tensor with_last_dim(const at::Tensor& matrix, const at::Tensor& like, int64_t last) {
  std::vector<int64_t> shape = like.sizes().vec();
  shape.back() = last;
  return matrix.view(shape);
}

// An undefined tensor cannot be an argument of a Function.
std::optional<at::Tensor> given(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

// As the product takes it: as it is stored where it is rounded on the way.
const at::Tensor& matrix_of(const at::Tensor& x, const Parameter& weight) {
  return rounds_on_the_way(x, weight.stored()) ? weight.stored() : weight.base();
}

// In the dtype of the weight.
at::Tensor weight_gradient(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                           bool transposed, Products products) {
  return transposed ? multiply(grad.t(), x, {}, products, weight.scalar_type())
                    : multiply(x.t(), grad, {}, products, weight.scalar_type());
}

Products products_of(AutogradContext* ctx) {
  return ctx->saved_data["quickest"].toBool() ? Products::kQuickest : Products::kAten;
}

// x·W' + b, where ATen's is not the quickest or does not take two dtypes. `transposed`: W is [out, in] and W' its transpose.
struct Linear : Function<Linear> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, bool transposed) {
    const at::Tensor matrix = as_matrix(x);
    ctx->save_for_backward({matrix, weight});
    ctx->saved_data["bias"] = bias.has_value();
    ctx->saved_data["transposed"] = transposed;
    const at::Tensor out = multiply(matrix, transposed ? weight.t() : weight, bias.value_or(at::Tensor()),
                                    Products::kQuickest, x.scalar_type());
    return with_last_dim(out, x, out.size(1));
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const bool transposed = ctx->saved_data["transposed"].toBool();
    const at::Tensor grad = as_matrix(grads[0].contiguous());
    at::Tensor grad_x, grad_weight, grad_bias;
    if (ctx->needs_input_grad(0)) {
      const at::Tensor back = transposed ? weight : weight.t();
      grad_x =
          with_last_dim(multiply(grad, back, {}, Products::kQuickest, x.scalar_type()), grads[0], x.size(1));
    }
    if (ctx->needs_input_grad(1))
      grad_weight = weight_gradient(grad, x, weight, transposed, Products::kQuickest);
    if (ctx->saved_data["bias"].toBool() && ctx->needs_input_grad(2)) grad_bias = grad.sum(0);
    return {grad_x, grad_weight, grad_bias, at::Tensor()};
  }
};

// Whether ATen's products would be slower, or refuse: of bfloat16, where there is something better for it.
bool is_bfloat16_of_ours(const at::Tensor& x, const at::Tensor& weight) {
  return x.is_cpu() && x.scalar_type() == at::kBFloat16 && has_bfloat16_products() && x.numel() > 0 &&
         (weight.scalar_type() == at::kBFloat16 || weight.scalar_type() == at::kFloat);
}

bool is_float32_of_ours(const at::Tensor& x, Products products) {
  return products == Products::kQuickest && cpu::prefers_sgemm() && x.is_cpu() &&
         x.scalar_type() == at::kFloat && x.numel() > 0;
}

// x·Wᵀ + b by whoever is asked for.
at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, Products products) {
  if (takes_narrow_products()) {
    const at::Tensor matrix = as_matrix(x), transposed = weight.t();
    if (is_narrow(matrix, transposed))
      return with_last_dim(multiply(matrix, transposed, bias, products), x, weight.size(0));
  }
  if (is_bfloat16_of_ours(x, weight)) return Linear::apply(x, weight, given(bias), true);
  if (is_float32_of_ours(x, products)) return Linear::apply(x, weight, given(bias), true);
  if (bias.defined()) return at::linear(x, weight, bias);
  return at::linear(x, weight);
}

// residual + x·W' + b. `transposed`: W is [out, in] and W' its transpose.
struct ProductAdd : Function<ProductAdd> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& residual, const at::Tensor& x,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias, bool transposed,
                            bool quickest) {
    const at::Tensor matrix = as_matrix(x);
    ctx->saved_data["quickest"] = quickest;
    ctx->save_for_backward({matrix, weight});
    ctx->saved_data["transposed"] = transposed;
    ctx->saved_data["bias"] = bias.has_value();
    const at::Tensor start = residual.contiguous();  // a sum keeps the layout of what it starts from
    at::Tensor out = bias ? at::add(start, *bias) : start.clone();
    at::Tensor flat = out.view({-1, out.size(-1)});
    add_product(flat, matrix, transposed ? weight.t() : weight, products_of(ctx));
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const bool transposed = ctx->saved_data["transposed"].toBool();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const at::Tensor grad = as_matrix(grads[0].contiguous());
    const Products products = products_of(ctx);
    at::Tensor grad_x, grad_weight, grad_bias;
    if (ctx->needs_input_grad(1)) {
      const at::Tensor back = transposed ? weight : weight.t();
      grad_x = with_last_dim(multiply(grad, back, {}, products, x.scalar_type()), grads[0], x.size(1));
    }
    if (ctx->needs_input_grad(2)) grad_weight = weight_gradient(grad, x, weight, transposed, products);
    if (ctx->saved_data["bias"].toBool() && ctx->needs_input_grad(3)) grad_bias = grad.sum(0);
    return {grads[0], grad_x, grad_weight, grad_bias, at::Tensor(), at::Tensor()};
  }
};

// Inputs: x, weights…, biases… (the latter all or none).
struct LinearMany : Function<LinearMany> {
  static variable_list forward(AutogradContext* ctx, at::TensorList inputs, int64_t count, bool quickest) {
    ctx->saved_data["quickest"] = quickest;
    ctx->save_for_backward(inputs.slice(0, 1 + count).vec());
    ctx->saved_data["count"] = count;
    const bool biased = inputs.size() > static_cast<size_t>(1 + count);
    ctx->saved_data["biased"] = biased;
    variable_list outputs;
    for (int64_t i = 0; i < count; ++i) {
      outputs.push_back(
          product(inputs[0], inputs[1 + i], biased ? inputs[1 + count + i] : at::Tensor(), products_of(ctx)));
    }
    return outputs;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const size_t count = static_cast<size_t>(ctx->saved_data["count"].toInt());
    const bool biased = ctx->saved_data["biased"].toBool();
    const at::Tensor x = as_matrix(saved[0]);
    const Products products = products_of(ctx);
    variable_list result(1 + count * (biased ? 2 : 1));
    at::Tensor grad_x;
    for (size_t i = 0; i < count; ++i) {
      const at::Tensor grad = as_matrix(grads[i].contiguous());
      // What is frozen is left out, and so is the input where all before it is.
      if (ctx->needs_input_grad(1 + i))
        result[1 + i] = weight_gradient(grad, x, saved[1 + i], true, products);
      if (biased && ctx->needs_input_grad(1 + count + i)) result[1 + count + i] = grad.sum(0);
      if (!ctx->needs_input_grad(0)) continue;
      if (grad_x.defined()) {
        add_product(grad_x, grad, saved[1 + i], products);
      } else {
        grad_x = multiply(grad, saved[1 + i], {}, products, x.scalar_type());
      }
    }
    if (grad_x.defined()) result[0] = grad_x.view(saved[0].sizes());
    result.emplace_back();
    result.emplace_back();
    return result;
  }
};

// `sum` and what the weight's adapter, if it has one, makes of x. `kind`: of the module, for an observer.
at::Tensor with_adapter(at::Tensor sum, const at::Tensor& x, const Parameter& weight, Products products,
                        const char* kind = "Linear") {
  if (!weight.adapter()) return observed(kind, {weight.stored()}, {x}, std::move(sum));
  const LowRank& adapter = *weight.adapter();
  const at::Tensor inner = product(dropout(x, adapter.dropout), adapter.down, {}, products) * adapter.scale;
  return observed(
      kind, {weight.stored(), adapter.down, adapter.up}, {x},
      ProductAdd::apply(sum, inner, adapter.up, std::nullopt, true, products == Products::kQuickest));
}

std::vector<at::Tensor> base_products(const at::Tensor& x, Parameters weights, at::TensorList biases,
                                      Kernels kernels, Products products) {
  const bool biased = !biases.empty() && biases[0].defined();
  std::vector<at::Tensor> result;
  if (kernels == Kernels::kReference) {
    for (size_t i = 0; i < weights.size(); ++i)
      result.push_back(
          product(x, matrix_of(x, weights[i]), biased ? biases[i] : at::Tensor(), Products::kAten));
    return result;
  }
  std::vector<at::Tensor> inputs{x};
  for (const Parameter& weight : weights) inputs.push_back(matrix_of(x, weight));
  if (biased) inputs.insert(inputs.end(), biases.begin(), biases.end());
  return LinearMany::apply(at::TensorList(inputs), static_cast<int64_t>(weights.size()),
                           products == Products::kQuickest);
}

}  // namespace

at::Tensor matrix_of_head(const at::Tensor& x, const Parameter& weight) {
  if (weight.adapter()) return weight;  // refused
  return !x.is_cpu() || rounds_on_the_way(x, weight.stored()) ? weight.stored() : weight.base();
}

at::Tensor conv1d(const at::Tensor& x, const Parameter& weight, const at::Tensor& bias, Products products) {
  const at::Tensor& base = matrix_of(x, weight);
  const at::Tensor out =
      is_bfloat16_of_ours(x, base) || is_float32_of_ours(x, products)
          ? Linear::apply(x, base, given(bias), false)
          : with_last_dim(multiply(as_matrix(x), base, bias, Products::kAten), x, base.size(1));
  return with_adapter(out, x, weight, products, "Conv1D");
}

at::Tensor conv1d_add(const at::Tensor& residual, const at::Tensor& x, const Parameter& weight,
                      const at::Tensor& bias, Kernels kernels, Products products) {
  if (kernels == Kernels::kReference) return residual + conv1d(x, weight, bias);
  return with_adapter(ProductAdd::apply(residual, x, matrix_of(x, weight), given(bias), false,
                                        products == Products::kQuickest),
                      x, weight, products, "Conv1D");
}

at::Tensor linear(const at::Tensor& x, const Parameter& weight, const at::Tensor& bias, Products products) {
  return with_adapter(product(x, matrix_of(x, weight), bias, products), x, weight, products);
}

at::Tensor linear_add(const at::Tensor& residual, const at::Tensor& x, const Parameter& weight,
                      const at::Tensor& bias, Kernels kernels, Products products) {
  if (kernels == Kernels::kReference) return residual + linear(x, weight, bias);
  return with_adapter(ProductAdd::apply(residual, x, matrix_of(x, weight), given(bias), true,
                                        products == Products::kQuickest),
                      x, weight, products);
}

std::vector<at::Tensor> linear_many(const at::Tensor& x, Parameters weights, at::TensorList biases,
                                    Kernels kernels, Products products) {
  std::vector<at::Tensor> result = base_products(x, weights, biases, kernels, products);
  for (size_t i = 0; i < weights.size(); ++i)
    result[i] = with_adapter(std::move(result[i]), x, weights[i], products);
  return result;
}

}  // namespace hftrain::nn

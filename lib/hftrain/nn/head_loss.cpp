#include "hftrain/nn/head_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <bit>

#include "hftrain/base/error.h"
#include "hftrain/nn/accumulation.h"
#include "hftrain/nn/head_matrix.h"
#include "hftrain/nn/ops.h"
#include "hftrain/nn/product.h"
#include "hftrain/nn/row_loss.h"

namespace hftrain::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct HeadGradients {
  at::Tensor loss;  // summed, not divided
  // Undefined without gradient, and of what is frozen. That of the weight may be float32 where the weight is not.
  at::Tensor hidden, weight, bias;
  at::Tensor product;  // on a CPU: of a chunk, where it is added to a wider sum
};

RowLoss row_loss(const LossOptions& options, Kernels kernels) {
  return {options.label_smoothing, options.by_probability, kernels == Kernels::kFused};
}

bool has_own_kernel(const at::Tensor& hidden, const RowLoss& kind) {
  return kind.own_kernel && !kind.by_probability && ops::has_kernel(ops::Operator::kCrossEntropy, hidden);
}

// Rows of one chunk: enough for efficient products, few enough that the logits stay small.
int64_t chunk_rows(const at::Tensor& hidden, int64_t vocab) {
  const int64_t bytes = hidden.is_cpu() ? int64_t{16} << 20 : int64_t{256} << 20;
  const int64_t least = hidden.is_cpu() ? 256 : 1024;
  return std::max(least, bytes / (vocab * static_cast<int64_t>(sizeof(float))));
}

// For what `rows` rows at a time have of each column. Batches with masked tokens have another number each; buffers of few sizes
// are found again by the allocator, where those of every number would be kept side by side.
at::Tensor buffer_of_rows(const at::Tensor& hidden, int64_t rows, int64_t columns, at::ScalarType dtype) {
  const auto rounded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows)));
  return at::empty({std::min(rounded, std::max(rows, chunk_rows(hidden, columns))), columns},
                   hidden.options().dtype(dtype));
}

// The logits of one chunk after the other, and in their place, or beside them where they are wider, their gradients.
class Logits {
 public:
  Logits(const at::Tensor& hidden, const Head& head, const RowLoss& kind, int64_t rows, bool gradient)
      : head_(head), kind_(kind), own_kernel_(has_own_kernel(hidden, kind)), gradient_(gradient) {
    // A device's product of half types comes in float32 if it is asked for, which its softmax would make of it first.
    const at::ScalarType given = hidden.scalar_type();
    const bool wide = !own_kernel_ && !hidden.is_cpu() && accumulation_dtype(hidden) != given;
    logits_ = buffer_of_rows(hidden, rows, head.columns(), wide ? accumulation_dtype(hidden) : given);
    gradients_ = wide && gradient ? buffer_of_rows(hidden, rows, head.columns(), given) : logits_;
  }

  // Those of the rows `hidden` [n, C], as many as they are.
  void compute(const at::Tensor& hidden) {
    rows_ = hidden.size(0);
    at::Tensor all = logits_.narrow(0, 0, rows_);
    if (all.scalar_type() == hidden.scalar_type()) {
      multiply_into(all, hidden, head_.weight.t(), head_.bias.value_or(at::Tensor()), head_.products);
      return;
    }
    at::mm_out(all, hidden, head_.weight.t(), all.scalar_type());
    if (head_.bias) all.add_(*head_.bias);
  }

  // [n, V].
  at::Tensor of_vocabulary() const { return logits_.narrow(0, 0, rows_).narrow(1, 0, head_.vocab); }

  // Their summed loss; afterwards gradients() are scale·(their gradients), if they were asked for.
  at::Tensor loss(const at::Tensor& targets, const at::Tensor& scale) const {
    if (!own_kernel_)
      return composed_rows(logits_.narrow(0, 0, rows_), head_.vocab, targets, scale, kind_,
                           gradient_ ? gradients() : at::Tensor());
    at::Tensor logits = of_vocabulary();
    return gradient_ ? ops::cross_entropy_with_gradient_(logits, targets, scale, kind_.smoothing)
                     : ops::cross_entropy(logits, targets, kind_.smoothing);
  }
  at::Tensor gradients() const { return gradients_.narrow(0, 0, rows_); }  // [n, columns]

 private:
  const Head& head_;
  const RowLoss kind_;
  bool own_kernel_, gradient_;
  at::Tensor logits_, gradients_;
  int64_t rows_ = 0;
};

// In float16 a sum over the rows of a chunk may be more than the type holds, before any loss scale can help: the rows
// are made smaller by this power of two, which loses bits only of values below 0.004.
constexpr double kShrink = 1.0 / 64;

// A device's product comes in float32 and is added where the sum is.
void add_wide_product_of_device(at::Tensor& sum, const at::Tensor& grad, const at::Tensor& hidden,
                                bool first) {
  if (first) {
    at::mm_out(sum, grad.t(), hidden, sum.scalar_type());
    return;
  }
  // By the form for batches of matrices, whose sum may be wider; that for matrices has learnt it later.
  at::Tensor whole = sum.unsqueeze(0);
  at::baddbmm_out(whole, whole, grad.t().unsqueeze(0), hidden.unsqueeze(0), sum.scalar_type(), 1, 1);
}

// On a CPU whose products do not come in float32 (product.h) that of a chunk is rounded once, in `product`, and added to those of other
// chunks without rounding.
void add_wide_product(at::Tensor& sum, at::Tensor& product, const at::Tensor& grad, const at::Tensor& hidden,
                      bool first) {
  if (!grad.is_cpu()) return add_wide_product_of_device(sum, grad, hidden, first);
  const bool half = grad.scalar_type() == at::kHalf;
  if (!product.defined()) product = at::empty(sum.sizes(), grad.options());
  at::mm_out(product, grad.t(), half ? hidden * kShrink : hidden);
  const double grow = half ? 1 / kShrink : 1;
  if (first && grow == 1) {
    sum.copy_(product);
  } else {
    if (first) sum.zero_();
    sum.add_(product, grow);
  }
}

void add_weight_gradient(HeadGradients& result, const at::Tensor& grad, const at::Tensor& hidden,
                         const Head& head, bool first) {
  at::Tensor& sum = result.weight;
  if (sum.scalar_type() != grad.scalar_type() && !rounds_on_the_way(grad, sum))
    return add_wide_product(sum, result.product, grad, hidden, first);
  if (first) return multiply_into(sum, grad.t(), hidden, {}, head.products);
  add_product(sum, grad.t(), hidden, head.products);
}

// Adds what the rows `begin` … of the chunk give; `grad` are the gradients of their logits.
void add_gradients(HeadGradients& result, const at::Tensor& grad, const at::Tensor& hidden, const Head& head,
                   int64_t begin) {
  at::Tensor grad_hidden = result.hidden.narrow(0, begin, grad.size(0));
  multiply_into(grad_hidden, grad, head.weight, {}, head.products);
  if (result.weight.defined()) add_weight_gradient(result, grad, hidden, head, begin == 0);
  if (result.bias.defined()) result.bias.add_(grad.sum({0}, false, result.bias.scalar_type()));
}

// `chunks`: in how many parts the rows are taken.
HeadGradients empty_gradients(const at::Tensor& hidden, const Head& head, int64_t chunks) {
  HeadGradients result;
  result.hidden = at::empty_like(hidden, at::MemoryFormat::Contiguous);
  // A frozen matrix, as beside an adapter, costs neither a product nor memory of its own size.
  // Of several chunks in bfloat16, each would be rounded to what the sum of those before it leaves it.
  // A matrix that is kept in float32 learns in it.
  const bool wide = hidden.scalar_type() == at::kHalf || head.stored == at::kFloat || chunks > 1;
  const at::ScalarType dtype = wide ? accumulation_dtype(hidden) : hidden.scalar_type();
  if (head.trains_weight)
    result.weight =
        at::empty_like(head.weight, head.weight.options().dtype(dtype), at::MemoryFormat::Contiguous);
  if (head.trains_bias) {
    result.bias = at::zeros_like(*head.bias, head.bias->options().dtype(accumulation_dtype(hidden)));
  }
  return result;
}

void leave_what_counts(HeadGradients& result, const Head& head) {
  if (head.columns() == head.vocab) return;
  for (at::Tensor* gradient : {&result.weight, &result.bias}) {
    if (gradient->defined()) *gradient = gradient->narrow(0, 0, head.vocab);
  }
}

// hidden [N, C], targets [N]; `scale` (scalar of the accumulation's dtype) multiplies the gradients.
HeadGradients run_head(const at::Tensor& hidden, const Head& head, const at::Tensor& targets,
                       const at::Tensor& scale, const RowLoss& kind, bool gradient) {
  const int64_t rows = hidden.size(0);
  require_targets_in_range(targets, head.vocab);
  const int64_t step = std::max<int64_t>(1, std::min(rows, chunk_rows(hidden, head.columns())));
  Logits logits(hidden, head, kind, step, gradient);
  HeadGradients result;
  if (gradient) result = empty_gradients(hidden, head, (rows + step - 1) / step);
  if (rows == 0 && result.weight.defined()) result.weight.zero_();
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t count = std::min(step, rows - begin);
    const at::Tensor x = hidden.narrow(0, begin, count);
    logits.compute(x);
    const at::Tensor loss = logits.loss(targets.narrow(0, begin, count), scale);
    result.loss = result.loss.defined() ? result.loss.add_(loss) : loss;
    if (gradient) add_gradients(result, logits.gradients(), x, head, begin);
  }
  result.product.reset();
  leave_what_counts(result, head);
  const at::ScalarType dtype = accumulation_dtype(hidden);
  result.loss = rows == 0 ? at::zeros({}, hidden.options().dtype(dtype)) : result.loss.to(dtype);
  return result;
}

// Gradients are ready when the forward returns; the backward multiplies them by the gradient of the loss. In
// float16 the division by N would underflow in the forward, so it waits for the backward, where the loss
// scale joins it.
struct HeadLoss : Function<HeadLoss> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& hidden, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, const at::Tensor& targets,
                            const at::Tensor& items, const RowLoss& kind, bool quickest, int64_t step) {
    const at::Tensor flat = hidden.reshape({-1, hidden.size(-1)});
    const at::Tensor inverse = items.reciprocal();
    const bool late = hidden.scalar_type() == at::kHalf;
    const Products products = quickest ? Products::kQuickest : Products::kAten;
    HeadGradients head = run_head(flat, make_head(flat, weight, bias, products, step), targets,
                                  late ? at::full_like(inverse, 1) : inverse, kind, true);
    ctx->saved_data["hidden"] = head.hidden.view(hidden.sizes());
    if (head.weight.defined()) ctx->saved_data["weight"] = head.weight;
    ctx->saved_data["weight_dtype"] = static_cast<int64_t>(weight.scalar_type());
    if (head.bias.defined()) ctx->saved_data["bias"] = head.bias;
    if (head.bias.defined()) ctx->saved_data["bias_dtype"] = static_cast<int64_t>(bias->scalar_type());
    if (late) ctx->saved_data["factor"] = inverse.masked_fill(items == 0, 0);  // no target: no gradient
    return head.loss * inverse;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    at::Tensor hidden = take(ctx, "hidden"), weight, bias;
    if (ctx->saved_data.find("weight") != ctx->saved_data.end()) weight = take(ctx, "weight");
    if (ctx->saved_data.find("bias") != ctx->saved_data.end()) bias = take(ctx, "bias");
    at::Tensor factor = grads[0];
    const auto late = ctx->saved_data.find("factor");
    if (late != ctx->saved_data.end()) factor = factor * late->second.toTensor();
    if (!factor.is_cpu() || factor.item<double>() != 1.0) {
      hidden.mul_(factor);
      if (weight.defined()) weight.mul_(factor);
      if (bias.defined()) bias.mul_(factor);
    }
    if (weight.defined())
      weight = weight.to(static_cast<at::ScalarType>(ctx->saved_data["weight_dtype"].toInt()));
    if (bias.defined()) bias = bias.to(static_cast<at::ScalarType>(ctx->saved_data["bias_dtype"].toInt()));
    return {hidden, weight, bias, {}, {}, {}, {}, {}};
  }

  // The gradients are handed out, not copied: a second backward through the same loss finds none.
  static at::Tensor take(AutogradContext* ctx, const char* key) {
    const auto found = ctx->saved_data.find(key);
    if (found == ctx->saved_data.end()) {
      throw Error(ExitCode::kInternal, "the fused loss was differentiated twice")
          .hint("use Kernels::kReference");
    }
    at::Tensor value = found->second.toTensor();
    ctx->saved_data.erase(found);
    return value;
  }
};

// The same rows and chunks as in run_head, so that the loss has the same bits.
LossAndBest run_best(const at::Tensor& hidden, const Head& head, const at::Tensor& targets,
                     const RowLoss& kind) {
  const int64_t rows = hidden.size(0);
  if (targets.defined()) require_targets_in_range(targets, head.vocab);
  const int64_t step = std::max<int64_t>(1, std::min(rows, chunk_rows(hidden, head.columns())));
  Logits logits(hidden, head, kind, step, /*gradient=*/false);
  const at::ScalarType dtype = accumulation_dtype(hidden);
  LossAndBest result;
  result.best_ids = at::empty({rows}, hidden.options().dtype(at::kLong));
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t count = std::min(step, rows - begin);
    at::Tensor best = result.best_ids.narrow(0, begin, count);
    logits.compute(hidden.narrow(0, begin, count));
    at::argmax_out(best, logits.of_vocabulary(), 1);
    if (!targets.defined()) continue;
    const at::Tensor loss = logits.loss(targets.narrow(0, begin, count), at::Tensor());
    result.loss = result.loss.defined() ? result.loss.add_(loss) : loss;
  }
  if (targets.defined())
    result.loss = rows == 0 ? at::zeros({}, hidden.options().dtype(dtype)) : result.loss.to(dtype);
  return result;
}

}  // namespace

LossAndBest head_loss_and_best(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
                               const at::Tensor& targets, const LossOptions& options, Kernels kernels,
                               Products products, std::optional<int64_t> step) {
  const at::NoGradGuard no_grad;
  const at::IntArrayRef sizes = hidden.sizes().slice(0, static_cast<size_t>(hidden.dim() - 1));
  LossAndBest result;
  if (kernels == Kernels::kReference) {
    const at::Tensor product = hidden.matmul(weight.to(hidden.scalar_type()).t());
    const at::Tensor logits = bias.defined() ? product + bias : product;
    if (targets.defined()) result.loss = cross_entropy(logits, targets, options);
    result.best_ids = logits.argmax(-1);
    return result;
  }
  const auto given = bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt;
  const at::Tensor flat = targets.defined() ? targets.reshape({-1}) : targets;
  const at::Tensor rows = hidden.reshape({-1, hidden.size(-1)});
  const Head head = make_head(rows, weight, given, products, step.value_or(vocabulary_step(hidden)));
  result = run_best(rows, head, flat, row_loss(options, kernels));
  result.best_ids = result.best_ids.view(sizes);
  if (flat.defined()) result.loss = result.loss / target_count(flat, options, accumulation_dtype(hidden));
  return result;
}

at::Tensor head_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
                     const at::Tensor& targets, const LossOptions& options, Kernels kernels,
                     Products products, std::optional<int64_t> step) {
  if (kernels == Kernels::kReference) {
    const at::Tensor logits = hidden.matmul(weight.to(hidden.scalar_type()).t());
    return cross_entropy(bias.defined() ? logits + bias : logits, targets, options);
  }
  const at::Tensor flat = targets.reshape({-1});
  const at::Tensor items = target_count(flat, options, accumulation_dtype(hidden));
  const auto given = bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt;
  const bool wanted =
      hidden.requires_grad() || weight.requires_grad() || (bias.defined() && bias.requires_grad());
  const int64_t multiple = step.value_or(vocabulary_step(hidden));
  if (at::GradMode::is_enabled() && wanted) {
    return HeadLoss::apply(hidden, weight, given, flat, items, row_loss(options, kernels),
                           products == Products::kQuickest, multiple);
  }
  const at::Tensor rows = hidden.reshape({-1, hidden.size(-1)});
  const Head head = make_head(rows, weight, given, products, multiple);
  return run_head(rows, head, flat, at::Tensor(), row_loss(options, kernels), false).loss / items;
}

}  // namespace hftrain::nn

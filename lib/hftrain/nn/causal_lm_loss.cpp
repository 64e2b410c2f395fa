#include "hftrain/nn/causal_lm_loss.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/nn/cpu/cross_entropy_kernel.h"

namespace hftrain::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// The label of every position, [B·T]: that of the next token, and none for the last.
at::Tensor shifted_targets(const at::Tensor& labels) {
  at::Tensor targets = at::full_like(labels, kIgnoreIndex, at::MemoryFormat::Contiguous);
  const int64_t length = labels.size(1);
  targets.narrow(1, 0, length - 1).copy_(labels.narrow(1, 1, length - 1));
  return targets.view(-1);
}

at::Tensor divisor(const at::Tensor& targets, const at::Tensor& num_items) {
  if (num_items.defined()) return num_items.to(targets.device(), at::kFloat).reshape({});
  return (targets != kIgnoreIndex).sum().to(at::kFloat);
}

// Losses of the rows before division; rows without a label are 0.
at::Tensor row_losses(const at::Tensor& log_probabilities, const at::Tensor& targets, double smoothing) {
  const at::Tensor counted = targets != kIgnoreIndex;
  const at::Tensor safe = targets.clamp_min(0).unsqueeze(1);
  at::Tensor loss = -log_probabilities.gather(1, safe).squeeze(1);
  if (smoothing != 0) loss = loss * (1 - smoothing) - log_probabilities.mean(1) * smoothing;
  return loss * counted;
}

void require_labels_in_range(const at::Tensor& targets, int64_t vocab) {
  const int64_t* t = targets.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < targets.numel(); ++i) {
    if (t[i] == kIgnoreIndex || (t[i] >= 0 && t[i] < vocab)) continue;
    throw Error(ExitCode::kData, "label " + std::to_string(t[i]) + " is outside the vocabulary")
        .why("the model has " + std::to_string(vocab) + " tokens")
        .hint("use the tokenizer that belongs to the model");
  }
}

// float32 on the CPU. Returns the sum of losses; the logits become gradients when `gradient`.
double cpu_rows(const at::Tensor& logits, const at::Tensor& targets, const cpu::CrossEntropyRow& row,
                bool gradient) {
  const int64_t rows = logits.size(0);
  at::Tensor losses = at::zeros({rows}, logits.options());
  float* x = logits.data_ptr<float>();
  float* loss = losses.data_ptr<float>();
  const int64_t* target = targets.const_data_ptr<int64_t>();
  at::parallel_for(0, rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* line = x + i * row.vocab;
      if (target[i] == kIgnoreIndex) {
        if (gradient) std::fill(line, line + row.vocab, 0.0f);
      } else {
        loss[i] = gradient ? cpu::cross_entropy_with_gradient(line, target[i], row)
                           : cpu::cross_entropy(line, target[i], row);
      }
    }
  });
  double sum = 0;
  for (int64_t i = 0; i < rows; ++i) sum += loss[i];
  return sum;
}

// Any device and dtype, with ATen operators.
at::Tensor generic_rows(at::Tensor& logits, const at::Tensor& targets, const at::Tensor& scale,
                        double smoothing, bool gradient) {
  at::Tensor log_probabilities = at::log_softmax(logits, 1, at::kFloat);
  at::Tensor loss = row_losses(log_probabilities, targets, smoothing).sum();
  if (!gradient) return loss;
  at::Tensor grad = log_probabilities.exp_();
  if (smoothing != 0) grad.sub_(smoothing / static_cast<double>(grad.size(1)));
  const at::Tensor index = targets.clamp_min(0).unsqueeze(1);
  grad.scatter_add_(1, index, at::full_like(index, smoothing - 1, grad.options()));
  grad.mul_((targets != kIgnoreIndex).to(at::kFloat).mul_(scale).unsqueeze(1));
  logits.copy_(grad);
  return loss;
}

struct HeadGradients {
  at::Tensor loss;            // summed, not divided
  at::Tensor hidden, weight;  // undefined without gradient
};

// Rows of one chunk: enough for efficient products, few enough that the logits stay small.
int64_t chunk_rows(const at::Tensor& hidden, int64_t vocab) {
  const int64_t bytes = hidden.is_cpu() ? int64_t{16} << 20 : int64_t{256} << 20;
  const int64_t least = hidden.is_cpu() ? 256 : 1024;
  return std::max(least, bytes / (vocab * static_cast<int64_t>(sizeof(float))));
}

// `scale` (float32 scalar) multiplies the gradients.
HeadGradients run_head(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets,
                       const at::Tensor& scale, double smoothing, bool gradient) {
  const int64_t rows = hidden.size(0), vocab = weight.size(0);
  const bool kernel = hidden.is_cpu() && hidden.scalar_type() == at::kFloat;
  if (kernel) require_labels_in_range(targets, vocab);
  const cpu::CrossEntropyRow row{vocab, static_cast<float>(smoothing),
                                 kernel && gradient ? scale.item<float>() : 1.0f};
  const int64_t step = std::min(rows, chunk_rows(hidden, vocab));
  const at::Tensor buffer = at::empty({step, vocab}, hidden.options());
  HeadGradients result;
  if (gradient) {
    result.hidden = at::empty_like(hidden);
    result.weight = at::empty_like(weight, at::MemoryFormat::Contiguous);
  }
  double sum = 0;
  result.loss = at::zeros({}, hidden.options().dtype(at::kFloat));
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t count = std::min(step, rows - begin);
    const at::Tensor x = hidden.narrow(0, begin, count);
    const at::Tensor target = targets.narrow(0, begin, count);
    at::Tensor logits = buffer.narrow(0, 0, count);
    at::mm_out(logits, x, weight.t());
    if (kernel) {
      sum += cpu_rows(logits, target, row, gradient);
    } else {
      result.loss.add_(generic_rows(logits, target, scale, smoothing, gradient));
    }
    if (!gradient) continue;
    at::Tensor grad_hidden = result.hidden.narrow(0, begin, count);
    at::mm_out(grad_hidden, logits, weight);
    if (begin == 0) {
      at::mm_out(result.weight, logits.t(), x);
    } else {
      result.weight.addmm_(logits.t(), x);
    }
  }
  if (kernel) result.loss.fill_(sum);
  return result;
}

// Gradients are ready when the forward returns; the backward multiplies them by the gradient of the loss. In
// float16 the division by N would underflow in the forward, so it waits for the backward, where the loss
// scale joins it.
struct HeadLoss : Function<HeadLoss> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& hidden, const at::Tensor& weight,
                            const at::Tensor& targets, const at::Tensor& items, double smoothing) {
    const at::Tensor flat = hidden.reshape({-1, hidden.size(-1)});
    const at::Tensor inverse = items.reciprocal();
    const bool late = hidden.scalar_type() == at::kHalf;
    HeadGradients head =
        run_head(flat, weight, targets, late ? at::full_like(inverse, 1) : inverse, smoothing, true);
    ctx->saved_data["hidden"] = head.hidden.view(hidden.sizes());
    ctx->saved_data["weight"] = head.weight;
    if (late) ctx->saved_data["factor"] = inverse;
    return head.loss * inverse;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    at::Tensor hidden = take(ctx, "hidden"), weight = take(ctx, "weight");
    at::Tensor factor = grads[0];
    const auto late = ctx->saved_data.find("factor");
    if (late != ctx->saved_data.end()) factor = factor * late->second.toTensor();
    if (!factor.is_cpu() || factor.item<float>() != 1.0f) {
      hidden.mul_(factor);
      weight.mul_(factor);
    }
    return {hidden, weight, at::Tensor(), at::Tensor(), at::Tensor()};
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

}  // namespace

at::Tensor causal_lm_loss_from_logits(const at::Tensor& logits, const at::Tensor& labels,
                                      const CausalLossOptions& options) {
  const at::Tensor targets = shifted_targets(labels);
  if (logits.is_cpu()) require_labels_in_range(targets, logits.size(-1));
  const at::Tensor log_probabilities = at::log_softmax(logits.reshape({-1, logits.size(-1)}), 1, at::kFloat);
  return row_losses(log_probabilities, targets, options.label_smoothing).sum() /
         divisor(targets, options.num_items);
}

at::Tensor causal_lm_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                          const CausalLossOptions& options, Kernels kernels) {
  if (kernels == Kernels::kReference) {
    return causal_lm_loss_from_logits(hidden.matmul(weight.t()), labels, options);
  }
  const at::Tensor targets = shifted_targets(labels);
  const at::Tensor items = divisor(targets, options.num_items);
  if (at::GradMode::is_enabled() && (hidden.requires_grad() || weight.requires_grad())) {
    return HeadLoss::apply(hidden, weight, targets, items, options.label_smoothing);
  }
  const at::Tensor flat = hidden.reshape({-1, hidden.size(-1)});
  return run_head(flat, weight, targets, at::Tensor(), options.label_smoothing, false).loss / items;
}

}  // namespace hftrain::nn

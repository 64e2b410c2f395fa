#include "hftrain/nn/attention.h"

#include <ATen/Parallel.h>
#include <ATen/SDPBackend.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>

#include "hftrain/nn/attention_by_blocks.h"
#include "hftrain/nn/cpu/step_attention.h"
#include "hftrain/nn/device_attention.h"
#include "hftrain/nn/document_attention.h"
#include "hftrain/nn/masked_bias.h"
#include "hftrain/nn/order_mask.h"
#include "hftrain/nn/product.h"
#include "hftrain/nn/widened.h"

namespace hftrain::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// [B, 1, 1, S] or undefined when it hides nothing.
at::Tensor visible_keys(const at::Tensor& padding) {
  if (!padding.defined()) return {};
  const at::Tensor visible = padding.to(at::kBool);
  if (visible.is_cpu() && visible.all().item<bool>()) return {};
  return visible.unsqueeze(1).unsqueeze(1);
}

// Heads before places.
struct Operands {
  at::Tensor query, key, value;
  std::optional<at::Tensor> given;  // a mask, or what is added to the scores
  bool causal = false;
  bool grouped() const { return key.size(1) != query.size(1); }
};

Operands in_float32(const Operands& x) {
  std::optional<at::Tensor> given = x.given;
  if (given && given->scalar_type() != at::kBool) given = given->to(at::kFloat);
  return {x.query.to(at::kFloat), x.key.to(at::kFloat), x.value.to(at::kFloat), given, x.causal};
}

// Whether ATen has its fused form for them.
bool is_fused(const Operands& x, const AttentionOptions& options) {
  const int64_t chosen = at::_fused_sdp_choice(x.query, x.key, x.value, x.given, options.dropout, x.causal,
                                               options.scale, x.grouped());
  return chosen == static_cast<int64_t>(at::SDPBackend::flash_attention);
}

at::Tensor attend(const Operands& x, bool composed, const AttentionOptions& options) {
  if (composed)
    return std::get<0>(at::_scaled_dot_product_attention_math(
        x.query, x.key, x.value, x.given, options.dropout, x.causal, {}, options.scale, x.grouped()));
  const WithoutCuDnn for_this(needs_other_kernels(x.query, options.dropout, x.given.has_value(), x.causal));
  const int64_t heads = x.query.size(1);
  const at::Tensor key = heads_for_kernel(x.key, heads, x.given.has_value());
  const at::Tensor value = heads_for_kernel(x.value, heads, x.given.has_value());
  return at::scaled_dot_product_attention(x.query, key, value, x.given, options.dropout, x.causal,
                                          options.scale, key.size(1) != heads);
}

// What a mask or a bias adds to the scores, in float32.
std::optional<at::Tensor> added_scores(const std::optional<at::Tensor>& given) {
  if (!given || !given->defined()) return std::nullopt;
  if (given->scalar_type() != at::kBool) return given->to(at::kFloat);
  return at::zeros(given->sizes(), given->options().dtype(at::kFloat))
      .masked_fill_(given->logical_not(), -std::numeric_limits<double>::infinity());
}

// The fused form over bfloat16 that is widened: what autograd would keep of at::scaled_dot_product_attention is in float32; here the
// operands stay as they are and are widened once more on the way back. The same calls over the same numbers, and so the same bits.
struct WidenedAttention : Function<WidenedAttention> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value, const std::optional<at::Tensor>& given, bool causal,
                            double scale) {
    const auto [out, log_sums] = at::_scaled_dot_product_flash_attention_for_cpu(
        query.to(at::kFloat), key.to(at::kFloat), value.to(at::kFloat), 0.0, causal, added_scores(given),
        scale);
    ctx->save_for_backward({query, key, value, given.value_or(at::Tensor()), out, log_sums});
    ctx->saved_data["causal"] = causal;
    ctx->saved_data["scale"] = scale;
    return out.to(query.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor query = saved[0].to(at::kFloat), key = saved[1].to(at::kFloat),
                     value = saved[2].to(at::kFloat);
    const auto [of_query, of_key, of_value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        grads[0].to(at::kFloat), query, key, value, saved[4], saved[5], 0.0,
        ctx->saved_data["causal"].toBool(), added_scores(saved[3]), ctx->saved_data["scale"].toDouble());
    const at::ScalarType dtype = saved[0].scalar_type();
    return {of_query.to(dtype), of_key.to(dtype), of_value.to(dtype), {}, {}, {}};
  }
};

// Each document for itself, by the kernels that a row has: the work is that of the squares on the diagonal.
at::Tensor attention_of_each(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                             const std::vector<int64_t>& documents, const AttentionOptions& options) {
  const auto parts_of = [&](const at::Tensor& x) {
    return x.reshape({1, -1, x.size(2), x.size(3)}).split_with_sizes(documents, 1);
  };
  const std::vector<at::Tensor> queries = parts_of(query), keys = parts_of(key), values = parts_of(value);
  const WithoutCuDnn of_many_lengths(!query.is_cpu());
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < documents.size(); ++i)
    parts.push_back(attention(queries[i], keys[i], values[i], {.causal = true}, options));
  return at::cat(parts, 1).view({query.size(0), query.size(1), -1});
}

at::Tensor attention_by_documents(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                  const AttentionMask& mask, const AttentionOptions& options) {
  if (mask.shared && mask.shared->documents_at_once()) {
    const DocumentBounds& bounds = mask.shared->bounds(mask.documents, query.device());
    if (takes_documents_at_once(query, key, value, bounds.longest, options))
      return attention_within(bounds, query, key, value, options);
  }
  return attention_of_each(query, key, value, mask.documents, options);
}

// What hides keys from queries, and what is added to their scores; nothing where neither does.
std::optional<at::Tensor> given_scores(const at::Tensor& query, const AttentionMask& mask, at::Tensor seen,
                                       const std::optional<Order>& order) {
  if (mask.shared && !mask.bias.defined() && (seen.defined() || order)) {
    const at::Tensor padding = seen.defined() ? mask.padding : at::Tensor();
    return mask.shared->get(padding, order, query.scalar_type(), query.device());
  }
  if (order) {
    const at::Tensor behind = order_mask(*order, query.device());
    seen = seen.defined() ? seen.logical_and(behind) : behind;
  }
  if (!mask.bias.defined()) return seen.defined() ? std::optional(seen) : std::nullopt;
  const at::Tensor bias = mask.bias.to(query.scalar_type());
  return seen.defined() ? at::where(seen, bias, least_number(bias.scalar_type())) : bias;
}

cpu::HeadsView heads_view(const at::Tensor& x) {
  return {x.const_data_ptr<float>(), x.stride(0), x.stride(1), x.stride(2)};
}

bool is_float_on_cpu(const at::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && x.stride(3) == 1;
}

// Whether these are the next tokens of texts that are being written, for which there is a kernel.
bool is_step(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
             const AttentionMask& mask, const AttentionOptions& options) {
  constexpr int64_t kFewQueries = 16;  // of more LibTorch makes products of matrices
  const bool behind = mask.causal ? mask.past > 0 : query.size(1) == 1;
  return takes_narrow_products() && behind && query.size(1) <= kFewQueries && options.dropout == 0 &&
         query.numel() > 0 && is_float_on_cpu(query) && is_float_on_cpu(key) && is_float_on_cpu(value);
}

at::Tensor step_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const AttentionMask& mask, const AttentionOptions& options) {
  constexpr int64_t kWorthAThread = int64_t{1} << 15;  // multiplications
  const int64_t places = key.size(1);
  cpu::StepAttention step{query.size(0),
                          query.size(1),
                          query.size(2),
                          key.size(2),
                          query.size(3),
                          places,
                          mask.causal ? mask.past : places,
                          mask.causal ? options.window.value_or(places) : places,
                          static_cast<float>(options.scale),
                          heads_view(query),
                          heads_view(key),
                          heads_view(value)};
  at::Tensor seen, bias;
  if (mask.padding.defined()) {
    seen = mask.padding.to(at::kBool).contiguous();
    step.seen = seen.const_data_ptr<bool>();
    step.seen_row = places;
  }
  if (mask.bias.defined()) {
    bias = mask.bias.to(at::kFloat).expand({step.rows, step.heads, step.queries, places});
    if (bias.stride(3) != 1) bias = bias.contiguous();
    step.bias = bias.const_data_ptr<float>();
    step.bias_row = bias.stride(0), step.bias_head = bias.stride(1), step.bias_query = bias.stride(2);
  }
  at::Tensor out = at::empty({step.rows, step.queries, step.heads * step.width}, query.options());
  step.out = out.data_ptr<float>();
  const int64_t of_a_head = step.queries * places * step.width;
  at::parallel_for(0, step.rows * step.heads, std::max<int64_t>(1, kWorthAThread / of_a_head),
                   [&](int64_t begin, int64_t end) { cpu::attend_step(step, begin, end); });
  return out;
}

// Each of some queries behind `mask.past` places over the keys that it may see: LibTorch adds up several at once in another order.
at::Tensor attend_one_by_one(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                             const AttentionMask& mask, const AttentionOptions& options) {
  std::vector<at::Tensor> each;
  for (int64_t i = 0; i < query.size(1); ++i) {
    AttentionMask own = mask;
    own.past = mask.past + i;
    const int64_t seen = own.past + 1;
    if (mask.padding.defined()) own.padding = mask.padding.narrow(1, 0, seen);
    if (mask.bias.defined()) own.bias = mask.bias.narrow(2, i, 1).narrow(3, 0, seen);
    each.push_back(
        attention(query.narrow(1, i, 1), key.narrow(1, 0, seen), value.narrow(1, 0, seen), own, options));
  }
  return at::cat(each, 1);
}

}  // namespace

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionMask& mask, const AttentionOptions& options) {
  if (key.size(1) == 0) {  // nobody sees a key; all that would have been seen gets its gradient, of zeros
    return query.flatten(2) * 0 + (key.sum() + value.sum()) * 0;
  }
  if (is_by_blocks(query, key, value, mask, options))
    return attention_by_blocks(query, key, value, mask, options);
  if (!mask.documents.empty()) return attention_by_documents(query, key, value, mask, options);
  if (is_step(query, key, value, mask, options)) return step_attention(query, key, value, mask, options);
  if (mask.past > 0 && query.size(1) > 1) return attend_one_by_one(query, key, value, mask, options);
  const int64_t batch = query.size(0), queries = query.size(1), keys = key.size(1);
  const bool cut = mask.causal && options.window && *options.window < keys;
  const at::Tensor seen = visible_keys(mask.padding);
  // One query behind all keys, as a text's next token is, may see them all.
  const bool ordered = mask.causal && (cut || queries > 1 || mask.past == 0);
  // The fused kernels know `causal` by a flag and take no mask beside it.
  const bool flag = ordered && !cut && mask.past == 0 && !seen.defined() && !mask.bias.defined();
  std::optional<Order> order;
  if (ordered && !flag) order = Order{queries, keys, mask.past, cut ? options.window : std::nullopt};
  const std::optional<at::Tensor> given = given_scores(query, mask, seen, order);
  const Operands operands{query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), given, flag};
  // On the CPU ATen takes this form for a bias that requires a gradient and the fused one for others.
  const bool composed = mask.bias_learns && given && query.is_cpu();
  // What LibTorch would multiply number by number is widened, scores and weights with it.
  const bool widen = query.is_cpu() && query.scalar_type() == at::kBFloat16 && widens_bfloat16();
  at::Tensor out;
  if (widen && !composed && at::GradMode::is_enabled() && is_fused(operands, options)) {
    out = WidenedAttention::apply(operands.query, operands.key, operands.value, given, flag, options.scale);
  } else {
    out = attend(widen ? in_float32(operands) : operands, composed, options).to(query.scalar_type());
  }
  return out.transpose(1, 2).reshape({batch, queries, -1});
}

at::Tensor causal_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const AttentionOptions& options) {
  return attention(query, key, value, {.causal = true}, options);
}

}  // namespace hftrain::nn

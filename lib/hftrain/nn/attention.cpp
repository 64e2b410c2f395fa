#include "hftrain/nn/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/where.h>

#include <limits>

#include "hftrain/nn/order_mask.h"

namespace hftrain::nn {
namespace {

// [B, 1, 1, S] or undefined when it hides nothing.
at::Tensor visible_keys(const at::Tensor& padding) {
  if (!padding.defined()) return {};
  const at::Tensor visible = padding.to(at::kBool);
  if (visible.is_cpu() && visible.all().item<bool>()) return {};
  return visible.unsqueeze(1).unsqueeze(1);
}

double least_number(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
      return static_cast<double>(std::numeric_limits<at::Half>::lowest());
    case at::kBFloat16:
      return static_cast<double>(std::numeric_limits<at::BFloat16>::lowest());
    case at::kDouble:
      return std::numeric_limits<double>::lowest();
    default:
      return static_cast<double>(std::numeric_limits<float>::lowest());
  }
}

// Each document for itself, by the kernels that a row has: the work is that of the blocks on the diagonal.
at::Tensor attention_by_documents(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                  const std::vector<int64_t>& documents, const AttentionOptions& options) {
  const auto parts_of = [&](const at::Tensor& x) {
    return x.reshape({1, -1, x.size(2), x.size(3)}).split_with_sizes(documents, 1);
  };
  const std::vector<at::Tensor> queries = parts_of(query), keys = parts_of(key), values = parts_of(value);
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < documents.size(); ++i)
    parts.push_back(attention(queries[i], keys[i], values[i], {.causal = true}, options));
  return at::cat(parts, 1).view({query.size(0), query.size(1), -1});
}

}  // namespace

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionMask& mask, const AttentionOptions& options) {
  if (!mask.documents.empty()) return attention_by_documents(query, key, value, mask.documents, options);
  const int64_t batch = query.size(0), queries = query.size(1), keys = key.size(1);
  const bool cut = mask.causal && options.window && *options.window < keys;
  at::Tensor seen = visible_keys(mask.padding);
  // One query behind all keys, as a text's next token is, may see them all.
  const bool ordered = mask.causal && (cut || queries > 1 || mask.past == 0);
  // The fused kernels know `causal` by a flag and take no mask beside it.
  const bool flag = ordered && !cut && mask.past == 0 && !seen.defined() && !mask.bias.defined();
  if (ordered && !flag) {
    const at::Tensor order =
        order_mask({queries, keys, mask.past, cut ? options.window : std::nullopt}, query.device());
    seen = seen.defined() ? seen.logical_and(order) : order;
  }
  std::optional<at::Tensor> given;
  if (mask.bias.defined()) {
    const at::Tensor bias = mask.bias.to(query.scalar_type());
    given = seen.defined() ? at::where(seen, bias, least_number(bias.scalar_type())) : bias;
  } else if (seen.defined()) {
    given = seen;
  }
  const bool grouped = key.size(2) != query.size(2);
  const at::Tensor q = query.transpose(1, 2), k = key.transpose(1, 2), v = value.transpose(1, 2);
  // On the CPU ATen takes this form for a bias that requires a gradient and the fused one for others.
  const bool composed = mask.bias_learns && given && query.is_cpu();
  const at::Tensor out = composed
                             ? std::get<0>(at::_scaled_dot_product_attention_math(
                                   q, k, v, given, options.dropout, flag, {}, options.scale, grouped))
                             : at::scaled_dot_product_attention(q, k, v, given, options.dropout,
                                                                /*is_causal=*/flag, options.scale, grouped);
  return out.transpose(1, 2).reshape({batch, queries, -1});
}

at::Tensor causal_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const AttentionOptions& options) {
  return attention(query, key, value, {.causal = true}, options);
}

}  // namespace hftrain::nn

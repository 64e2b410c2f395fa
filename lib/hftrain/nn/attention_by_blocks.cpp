#include "hftrain/nn/attention_by_blocks.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>

#include "hftrain/nn/cpu/block_attention.h"

namespace hftrain::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// The numbers of a head lie together.
at::Tensor with_heads_together(const at::Tensor& x) {
  return x.stride(3) == 1 ? x : x.contiguous();
}

cpu::Heads heads_of(const at::Tensor& x) {
  return {x.const_data_ptr(), x.stride(0), x.stride(1), x.stride(2)};
}

// `window` 0: not causal.
cpu::BlockAttention block_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                    const at::Tensor& seen, int64_t window, double scale) {
  return {.rows = query.size(0),
          .queries = query.size(1),
          .keys = key.size(1),
          .heads = query.size(2),
          .key_heads = key.size(2),
          .width = query.size(3),
          .wide = query.scalar_type() == at::kFloat,
          .causal = window > 0,
          .window = window,
          .scale = static_cast<float>(scale),
          .query = heads_of(query),
          .key = heads_of(key),
          .value = heads_of(value),
          .seen = seen.defined() ? seen.const_data_ptr<bool>() : nullptr};
}

// A thread takes a key head. Where there are more threads than those, it takes a query head, and the sums are the same.
void walk_back(const cpu::BlockAttention& attention, const cpu::BlockGradients& gradients) {
  const int64_t key_heads = attention.rows * attention.key_heads;
  if (attention.heads == attention.key_heads || key_heads >= at::get_num_threads()) {
    at::parallel_for(0, key_heads, 1, [&](int64_t begin, int64_t end) {
      cpu::attend_blocks_backward(attention, gradients, begin, end);
    });
    return;
  }
  const at::Tensor sums =
      at::empty({attention.rows, attention.heads, 2, attention.keys, attention.width}, at::kFloat);
  float* of_heads = sums.data_ptr<float>();
  at::parallel_for(0, attention.rows * attention.heads, 1, [&](int64_t begin, int64_t end) {
    cpu::attend_heads_backward(attention, gradients, of_heads, begin, end);
  });
  at::parallel_for(0, key_heads, 1, [&](int64_t begin, int64_t end) {
    cpu::add_heads_backward(attention, gradients, of_heads, begin, end);
  });
}

// By cpu/block_attention.h, [B, T, H, d]. `window` 0: not causal.
struct AttentionByBlocks : Function<AttentionByBlocks> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value, const std::optional<at::Tensor>& seen, int64_t window,
                            double scale) {
    const at::Tensor places = seen.value_or(at::Tensor());
    const cpu::BlockAttention attention = block_attention(query, key, value, places, window, scale);
    at::Tensor out = at::empty(query.sizes(), query.options());
    at::Tensor log_sums =
        at::empty({attention.rows, attention.heads, attention.queries}, query.options().dtype(at::kFloat));
    at::parallel_for(0, attention.rows * attention.heads, 1,
                     [&, to = out.data_ptr()](int64_t begin, int64_t end) {
                       cpu::attend_blocks(attention, to, log_sums.data_ptr<float>(), begin, end);
                     });
    ctx->save_for_backward({query, key, value, places, out, log_sums});
    ctx->saved_data["window"] = window;
    ctx->saved_data["scale"] = scale;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &query = saved[0], &key = saved[1], &value = saved[2];
    const cpu::BlockAttention attention = block_attention(
        query, key, value, saved[3], ctx->saved_data["window"].toInt(), ctx->saved_data["scale"].toDouble());
    const at::Tensor gradient = with_heads_together(grads[0]);
    const auto like = [](const at::Tensor& x) { return at::empty(x.sizes(), x.options()); };
    at::Tensor of_query = like(query), of_key = like(key), of_value = like(value);
    const cpu::BlockGradients gradients{
        heads_of(gradient),  heads_of(saved[4]), saved[5].const_data_ptr<float>(),
        of_query.data_ptr(), of_key.data_ptr(),  of_value.data_ptr()};
    walk_back(attention, gradients);
    return {of_query, of_key, of_value, {}, {}, {}};
  }
};

}  // namespace

bool is_by_blocks(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  const AttentionMask& mask, const AttentionOptions& options) {
  constexpr int64_t kTile = 12;  // queries that are multiplied at once
  const auto fits = [&](const at::Tensor& x) {
    return x.is_cpu() && x.numel() > 0 && x.scalar_type() == query.scalar_type() &&
           x.size(3) == query.size(3);
  };
  const bool wide = query.scalar_type() == at::kFloat;
  const int64_t keys = key.size(1),
                reach = mask.causal ? std::min(keys, options.window.value_or(keys)) : keys;
  return options.products == Products::kQuickest && (wide || query.scalar_type() == at::kBFloat16) &&
         cpu::prefers_block_attention(wide, reach) && fits(query) && fits(key) && fits(value) &&
         query.size(1) >= kTile && mask.past == 0 && (!mask.causal || query.size(1) == key.size(1)) &&
         !mask.bias.defined() && !mask.bias_learns && options.dropout == 0 && options.scale > 0;
}

at::Tensor attention_by_blocks(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                               const AttentionMask& mask, const AttentionOptions& options) {
  std::optional<at::Tensor> seen;
  if (mask.padding.defined()) seen = mask.padding.to(at::kBool).contiguous();
  const int64_t window = mask.causal ? options.window.value_or(key.size(1)) : 0;
  return AttentionByBlocks::apply(with_heads_together(query), with_heads_together(key),
                                  with_heads_together(value), seen, window, options.scale)
      .reshape({query.size(0), query.size(1), -1});
}

}  // namespace hftrain::nn

#include "hftrain/nn/attention_by_blocks.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

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

// What hides keys: of padding and of other documents, as cpu::BlockAttention has them; `window` 0: not causal.
struct Hidden {
  at::Tensor seen, begins;
  int64_t window = 0;
};

cpu::BlockAttention block_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                    const Hidden& hidden, double scale) {
  return {.rows = query.size(0),
          .queries = query.size(1),
          .keys = key.size(1),
          .heads = query.size(2),
          .key_heads = key.size(2),
          .width = query.size(3),
          .wide = query.scalar_type() == at::kFloat,
          .causal = hidden.window > 0,
          .window = hidden.window,
          .scale = static_cast<float>(scale),
          .query = heads_of(query),
          .key = heads_of(key),
          .value = heads_of(value),
          .seen = hidden.seen.defined() ? hidden.seen.const_data_ptr<bool>() : nullptr,
          .begins = hidden.begins.defined() ? hidden.begins.const_data_ptr<int64_t>() : nullptr};
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

// By cpu/block_attention.h, [B, T, H, d].
struct AttentionByBlocks : Function<AttentionByBlocks> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value, const Hidden& hidden, double scale) {
    const cpu::BlockAttention attention = block_attention(query, key, value, hidden, scale);
    at::Tensor out = at::empty(query.sizes(), query.options());
    at::Tensor log_sums =
        at::empty({attention.rows, attention.heads, attention.queries}, query.options().dtype(at::kFloat));
    at::parallel_for(0, attention.rows * attention.heads, 1,
                     [&, to = out.data_ptr()](int64_t begin, int64_t end) {
                       cpu::attend_blocks(attention, to, log_sums.data_ptr<float>(), begin, end);
                     });
    ctx->save_for_backward({query, key, value, hidden.seen, hidden.begins, out, log_sums});
    ctx->saved_data["window"] = hidden.window;
    ctx->saved_data["scale"] = scale;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &query = saved[0], &key = saved[1], &value = saved[2];
    const Hidden hidden{saved[3], saved[4], ctx->saved_data["window"].toInt()};
    const cpu::BlockAttention attention =
        block_attention(query, key, value, hidden, ctx->saved_data["scale"].toDouble());
    const at::Tensor gradient = with_heads_together(grads[0]);
    const auto like = [](const at::Tensor& x) { return at::empty(x.sizes(), x.options()); };
    at::Tensor of_query = like(query), of_key = like(key), of_value = like(value);
    const cpu::BlockGradients gradients{
        heads_of(gradient),  heads_of(saved[5]), saved[6].const_data_ptr<float>(),
        of_query.data_ptr(), of_key.data_ptr(),  of_value.data_ptr()};
    walk_back(attention, gradients);
    return {of_query, of_key, of_value, {}, {}};
  }
};

// Where the document of each place begins in its row. [rows, places] int64.
at::Tensor begins_of(const std::vector<int64_t>& documents, int64_t rows, int64_t places) {
  at::Tensor begins = at::empty({rows, places}, at::kLong);
  int64_t *to = begins.data_ptr<int64_t>(), at = 0;
  for (const int64_t length : documents) {
    std::fill_n(to + at, length, at % places);
    at += length;
  }
  return begins;
}

// The most keys that a query may see.
int64_t reach_of(int64_t keys, const AttentionMask& mask, const AttentionOptions& options) {
  if (!mask.causal) return keys;
  const int64_t longest =
      mask.documents.empty() ? keys : *std::max_element(mask.documents.begin(), mask.documents.end());
  return std::min(longest, options.window.value_or(longest));
}

}  // namespace

bool is_by_blocks(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  const AttentionMask& mask, const AttentionOptions& options) {
  constexpr int64_t kTile = 12;  // queries that are multiplied at once
  const auto fits = [&](const at::Tensor& x) {
    return x.is_cpu() && x.numel() > 0 && x.scalar_type() == query.scalar_type() &&
           x.size(3) == query.size(3);
  };
  const bool wide = query.scalar_type() == at::kFloat;
  return options.products == Products::kQuickest && (wide || query.scalar_type() == at::kBFloat16) &&
         cpu::prefers_block_attention(wide, reach_of(key.size(1), mask, options)) && fits(query) &&
         fits(key) && fits(value) && query.size(1) >= kTile && mask.past == 0 &&
         (!mask.causal || query.size(1) == key.size(1)) && !mask.bias.defined() && !mask.bias_learns &&
         options.dropout == 0 && options.scale > 0;
}

at::Tensor attention_by_blocks(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                               const AttentionMask& mask, const AttentionOptions& options) {
  Hidden hidden;
  if (mask.padding.defined()) hidden.seen = mask.padding.to(at::kBool).contiguous();
  if (!mask.documents.empty()) hidden.begins = begins_of(mask.documents, query.size(0), query.size(1));
  if (mask.causal) hidden.window = reach_of(key.size(1), mask, options);
  return AttentionByBlocks::apply(with_heads_together(query), with_heads_together(key),
                                  with_heads_together(value), hidden, options.scale)
      .reshape({query.size(0), query.size(1), -1});
}

}  // namespace hftrain::nn

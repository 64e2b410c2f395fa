// The columns of one micro-batch, under the names that transformers gives its models' arguments.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <memory>
#include <string_view>

namespace hftrain::models {

// B rows of T tokens, and of D tokens on the decoder's side. Contiguous, and on the model's device when the
// model gets them. Undefined: the batch has no such column. What is no column (the divisor of the loss,
// whether logits are wanted) belongs to the objective.
struct Batch {
  at::Tensor input_ids;       // [B, T] int64
  at::Tensor attention_mask;  // [B, T] int64, 1: a token, 0: padding; undefined: no padding
  at::Tensor token_type_ids;  // [B, T] int64; undefined: all 0
  // [B, T] int64; undefined: the family's own, 0 … T − 1 for most. Of a language model: a document begins at every 0, and
  // no token sees another document.
  at::Tensor position_ids;
  at::Tensor pixel_values;            // [B, channels, height, width] float32, normalised
  at::Tensor decoder_input_ids;       // [B, D] int64; undefined: `labels` shifted right
  at::Tensor decoder_attention_mask;  // [B, D] int64, as attention_mask
  // int64, −100 does not count: [B, T] for causal and masked language modelling and token classification,
  // [B, D] for sequence to sequence, [B] for classes. float32: [B] or [B, L] for regression, [B, L] of 0 and
  // 1 for several labels at once. Undefined: no loss.
  at::Tensor labels;
  at::Tensor start_positions, end_positions;  // [B] int64, of the answer's first and last token

  // The same columns where they came from, on the CPU, for what the host decides by looking at them: to read them from a
  // device it would wait for all that the device has still to do. Null: nobody kept them.
  std::shared_ptr<const Batch> host;
};

// What the host looks at.
inline const Batch& on_host(const Batch& batch) {
  return batch.host ? *batch.host : batch;
}

struct BatchColumn {
  std::string_view name;
  at::Tensor Batch::*member;
};

// All of them, in the order of Batch.
inline constexpr std::array<BatchColumn, 10> kBatchColumns = {{
    {"input_ids", &Batch::input_ids},
    {"attention_mask", &Batch::attention_mask},
    {"token_type_ids", &Batch::token_type_ids},
    {"position_ids", &Batch::position_ids},
    {"pixel_values", &Batch::pixel_values},
    {"decoder_input_ids", &Batch::decoder_input_ids},
    {"decoder_attention_mask", &Batch::decoder_attention_mask},
    {"labels", &Batch::labels},
    {"start_positions", &Batch::start_positions},
    {"end_positions", &Batch::end_positions},
}};

// What a batch's size is measured by: the images of one that has any, else the tokens.
inline const at::Tensor& main_input(const Batch& batch) {
  return batch.pixel_values.defined() ? batch.pixel_values : batch.input_ids;
}

}  // namespace hftrain::models

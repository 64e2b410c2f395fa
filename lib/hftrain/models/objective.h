// What a model is trained for: the loss of a head's output, with the divisor of the whole update.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "hftrain/architectures/architecture.h"
#include "hftrain/models/batch.h"
#include "hftrain/nn/kernels.h"

namespace hftrain::models {

// What every head ends in: a last matrix, not yet applied, so that an objective may fuse it with its loss.
struct HeadOutput {
  at::Tensor hidden;  // [B, T, C], or [B, C] of a head that looks at one place of a row; in the compute dtype
  at::Tensor
      weight;  // [L, C]; float32 beside a narrower `hidden` where products round it on their way (nn/product.h)
  at::Tensor bias;  // [L]; undefined: none
  nn::Kernels kernels = nn::Kernels::kFused;
  nn::Products products = nn::Products::kAten;

  at::Tensor logits() const;  // [.., L]
};

struct Output {
  at::Tensor loss;  // float32 scalar; undefined: the objective has none
  // [B, T, L] or [B, L] in the compute dtype; where best ids are asked for, those in their place: the number
  // of the largest, int64 [B, T] or [B]; of a vocabulary -100 where nothing counts, but for blocks of text, all of
  // which counts. Undefined: neither was asked for.
  at::Tensor logits;
};

// Called in the head's unit. It owns what it captures: it may be called from an autograd thread, after the forward.
using Objective = std::function<Output(const HeadOutput& head)>;

// The logits, for what is done with them outside.
Objective logits_only();
// Those of the last place of each row, [B, L].
Objective last_logits();
// Those of place places[i] of row i, [B, L]; int64 [B].
Objective logits_at(const at::Tensor& places);
// The best ids alone, of a vocabulary chunk by chunk; without gradients.
Objective best_ids_only();

struct LossRequest {
  at::Tensor num_items;         // scalar; divisor of the summed loss; undefined: the mean over this batch
  int64_t micro_batches = 1;    // of the update, where labels do not weigh them: divisor of this one's mean
  double label_smoothing = 0;   // ε; 0: off
  bool by_probability = false;  // of nn::LossOptions
  bool want_logits = false;     // beside the loss (detached)
  // In evaluation, in the place of logits: without gradients, and of a vocabulary chunk by chunk.
  bool want_best_ids = false;
};

// The loss of the architecture's head over the batch's labels, as transformers' class has it: cross-entropy of the
// next token, of the token or class itself, or of the answer's two ends (their mean); squared error for regression;
// cross-entropy of each label on its own for several at once.
Objective loss_objective(const architectures::Architecture& architecture, const Batch& batch,
                         const LossRequest& request);

// Whether labels weigh the micro-batches of an update, and of an evaluation's round the batches. Answers do not: the Trainer
// counts what stands in the column `labels`, so that the mean of each micro-batch is worth as much as that of another.
bool weighs_by_labels(const architectures::Architecture& architecture);

// How many labels of a batch count: what the summed loss of an update is divided by, added up over its
// micro-batches and ranks (the Trainer's _get_num_items_in_batch). In causal language modelling the first token of a row has nothing
// before it to be predicted from, and counts only where the Trainer counts it. An answer counts twice, as its
// first and as its last token.
int64_t label_count(const architectures::Architecture& architecture, const Batch& batch);

// Of a causal head those alone that a token stands before; and all of them.
int64_t predicted_label_count(const Batch& batch);
int64_t all_label_count(const Batch& batch);

}  // namespace hftrain::models

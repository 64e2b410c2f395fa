// A loss that somebody else computes from what the head gives, in the place of the head's own.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "hftrain/architectures/architecture.h"
#include "hftrain/models/batch.h"
#include "hftrain/models/objective.h"

namespace hftrain::models {

// What it may look at, while it is called.
struct OwnLossInput {
  std::function<at::Tensor()> logits;      // [.., L] in the compute dtype; computed when first asked for
  std::function<at::Tensor()> model_loss;  // the head's own, as fast as it is without another
  const Batch& batch;                      // as the model got it
  const at::Tensor& num_items;             // scalar: what a sum over labels is divided by
};

// Returns a float32 scalar.
using OwnLoss = std::function<at::Tensor(const OwnLossInput&)>;

// What makes the objective of a batch with labels: loss_objective, or one of own_loss().
using ObjectiveMaker =
    std::function<Objective(const architectures::Architecture&, const Batch&, const LossRequest&)>;

// Logits and best ids are those of loss_objective; the request's smoothing and weighing act in model_loss alone.
ObjectiveMaker own_loss(OwnLoss loss);

}  // namespace hftrain::models

// A program's batches as models know them.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "hftrain/architectures/head.h"
#include "hftrain/models/batch.h"
#include "hftrain/program/data_loader.h"

namespace hftrain {

// The columns that are there.
Batch columns_of(const models::Batch& batch);

// std::runtime_error for what a model with that head would not understand, or would read past the end of: a column that no model takes,
// without rows, of another dtype, or of other sizes than those beside it.
// (None of their numbers is looked at.)
models::Batch batch_of(const Batch& columns, architectures::Head head);

// "[2, 16]".
std::string sizes_text(const at::Tensor& tensor);

// std::runtime_error where a batch to train on has no labels.
void require_labels(const models::Batch& batch, architectures::Head head);
// std::runtime_error where labels that `of_run` has are left out of `batch`.
void require_labels_of(const models::Batch& of_run, const models::Batch& batch);

}  // namespace hftrain

// The tensors of one micro-batch of one rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/models/batch.h"

namespace hftrain::trainer {

// The tensors that the collator gives, on the CPU (pinned when asked).
struct LoadedBatch {
  models::Batch tensors;
  std::vector<int64_t> samples;  // which samples, for reports about bad batches
};

// A column by its name; an Error (exit code 1) when batches know none of that name.
const at::Tensor& column_of(const models::Batch& batch, const std::string& name);
void put_column(models::Batch& batch, const std::string& name, const at::Tensor& tensor);

// The same columns on `device`; columns that are one tensor stay one. What the host looks at stays with it.
models::Batch on_device(const models::Batch& batch, at::Device device);

}  // namespace hftrain::trainer

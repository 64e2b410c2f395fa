// Batches of a program's own, in the place of the run's or around them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace hftrain {

// Columns of a micro-batch by the names that models take them by: input_ids, attention_mask, labels, decoder_input_ids [B, T] int64,
// pixel_values [B, channels, height, width] float32, … What a model has no use for is refused, and columns of other sizes than those beside
// them: masks, positions and the labels of tokens are as wide as input_ids.
using Batch = std::map<std::string, at::Tensor>;

// The micro-batches of this rank alone, on the CPU. Used on the training thread. With several ranks an epoch of training ends on all of
// them where it ends on one.
class DataLoader {
 public:
  virtual ~DataLoader() = default;
  // From 0. Its next batch is the one behind `skip` of that epoch, on which a run that goes on has trained before.
  virtual void begin_epoch(int64_t epoch, int64_t skip) = 0;
  virtual std::optional<Batch> next() = 0;
  // Batches of an epoch, the same for each; unset: nobody knows before its end.
  virtual std::optional<int64_t> length() const { return std::nullopt; }
};

}  // namespace hftrain

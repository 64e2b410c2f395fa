// Where the training loop gets its micro-batches from.
#pragma once

#include <cstdint>
#include <optional>

#include "hftrain/data/samplers.h"
#include "hftrain/trainer/loaded_batch.h"
#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// One rank's batches of one epoch after another. Used by one thread.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual void seek(DataPosition position, std::optional<data::DrawnOrder> drawn = std::nullopt) = 0;
  // Samples that the order takes as one group of about one length, in epochs whose position does not say.
  virtual int64_t length_group() const = 0;
  // How much of its epoch lies before a position in the epoch sought, 0 to 1.
  virtual double share_done(const DataPosition& position) const = 0;
  // Notes in a position in the epoch sought from where a later run can read towards it.
  virtual void mark(DataPosition& position) const = 0;
  // Such a position is behind the last batch; the same on all ranks. Of a stream, which may wait for data here, only once
  // next() was called since the epoch was sought.
  virtual bool at_end(const DataPosition& position) = 0;
  // The next batch of the current epoch, or nullopt at its end, and where the run is to stop before there is one. Ranks that
  // read a stream for themselves may hear of a stop at different places.
  virtual std::optional<LoadedBatch> next() = 0;
};

}  // namespace hftrain::trainer

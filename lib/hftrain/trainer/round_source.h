// Which samples the ranks' next batches are made of: of prepared data by an order that is known, of a stream as they come.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hftrain/data/dataset.h"
#include "hftrain/data/samplers.h"
#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// Whose batches are wanted: one rank's, or those of all where that rank sends the others theirs.
enum class Reads { kOwn, kAll, kNothing };

// A micro-batch of the ranks that are read for.
struct BatchRound {
  std::shared_ptr<const data::Dataset> dataset;  // that has its samples
  std::vector<std::vector<int64_t>> batches;     // samples, in the order of the ranks
};

// Of an epoch. Unknown: the run is to stop, and the data that would tell have not come.
enum class RoundsLeft { kSome, kNone, kUnknown };

// Of one epoch after another. Used by one thread.
class RoundSource {
 public:
  virtual ~RoundSource() = default;
  virtual void seek(const DataPosition& position, std::optional<data::DrawnOrder> drawn) = 0;
  // What follows answers at once.
  virtual bool ready() = 0;
  // Whether a round is left in the epoch sought. May wait for data, until the run is to stop; Errors (exit code 4) say what is
  // wrong with them.
  virtual RoundsLeft left() = 0;
  // When left() has said that there is one: never waits.
  virtual BatchRound next() = 0;
  // Of one rank in the epoch sought, those after position.before; unset: nobody knows before the end.
  virtual std::optional<int64_t> batches() const = 0;
  // Notes in a position in the epoch sought from where a later run can read towards it.
  virtual void mark(DataPosition& position) = 0;
  // How much of its epoch lies before a position in the epoch sought, 0 to 1.
  virtual double share_done(const DataPosition& position) const = 0;
};

// Of a prepared split; `sampler` is that of this rank.
std::unique_ptr<RoundSource> ordered_rounds(std::shared_ptr<const data::Dataset> dataset,
                                            data::SamplerOptions sampler, Reads reads);

}  // namespace hftrain::trainer

// The order of the data: pure functions that give the order of the Hugging Face Trainer 5.17 for the same
// seed (torch's RandomSampler, LengthGroupedSampler of trainer_pt_utils.py). Any position can be asked for directly, so resuming never
// replays.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hftrain/data/sample_order.h"

namespace hftrain::data {

// A random order that is not that of seed and epoch: the permutation of a generator with that seed which follows
// `before` others.
struct DrawnOrder {
  uint64_t seed = 0;
  int64_t before = 0;
};

struct SamplerOptions {
  int64_t samples = 0;
  int64_t batch_size = 8;  // of one rank; with split_batches of all ranks together, a multiple of world_size
  int rank = 0;
  int world_size = 1;
  uint64_t seed = 42;  // kBatchRebalance draws from 42 whatever it is, as the Trainer does
  Sampling sampling = Sampling::kRandom;
  std::optional<DrawnOrder> drawn;  // with kRandom and kGroupByLength, in the place of seed and epoch
  // Of orders that look at lengths: those of all samples, and the samples that are to have about one length
  // (kGroupByLength, kSortish).
  SampleLengths lengths = nullptr;
  int64_t length_group = 0;
  int64_t accumulation_steps = 1;  // micro-batches of an update, for kBatchRebalance
  bool drop_last = false;
  bool even_batches =
      true;  // with several ranks: fill up from the start of the epoch until all ranks are level
  // With several ranks, as accelerate's DataLoaderDispatcher (dispatch_batches): the samples of a round are cut
  // into parts of one size, of the last one too; even_batches has no say.
  bool dispatched = false;
  bool split_batches = false;  // cut every batch into world_size slices instead of dealing whole batches out
  // Samples at the start of the epoch that are used already: what is left is dealt out as an epoch of its
  // own. For a run that goes on with another number of ranks or another batch size.
  int64_t skip = 0;

  int64_t left() const { return samples - skip; }
  // Samples that one batch of every rank makes together; with kBatchRebalance on the average of an update.
  int64_t round() const { return split_batches ? batch_size : batch_size * world_size; }
};

// L: batches of one rank in one epoch, as accelerate counts them. With split_batches and without even_batches
// a rank may get one batch less than this, because its slice of a short last batch is empty.
int64_t batches_per_epoch(const SamplerOptions& options);

// The batches of this rank in epoch `epoch`, in order; every batch holds sample indices. The last may be
// short.
std::vector<std::vector<int64_t>> epoch_batches(const SamplerOptions& options, int64_t epoch);

// Of a stream, whose end nobody knows before it comes: the batches of all ranks in the round that begins with sample
// `begin` and for which `count` samples are there, fewer than round() where the stream ends with them. They are those of
// epoch_batches() of as many samples in sequential order, completed from the first round of the epoch (which begins with
// sample `skip`) unless drop_last; of accelerate's IterableDatasetShard and DataLoaderDispatcher. Nothing: the round is
// dropped.
std::vector<std::vector<int64_t>> stream_round(const SamplerOptions& options, int64_t begin, int64_t count);

}  // namespace hftrain::data

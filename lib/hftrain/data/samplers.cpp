#include "hftrain/data/samplers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/data/batch_rebalance.h"

namespace hftrain::data {
namespace {

using Batch = std::vector<int64_t>;

// That the Trainer draws the order of batch_rebalance from, whatever the seeds of the run are.
constexpr uint64_t kRebalanceSeed = 42;

std::vector<int64_t> sample_order(const SamplerOptions& options, int64_t epoch) {
  const uint64_t seed = options.seed + static_cast<uint64_t>(epoch);
  const DrawnOrder random = options.drawn.value_or(DrawnOrder{.seed = seed});
  switch (options.sampling) {
    case Sampling::kRandom:
      return random_permutation(options.samples, random.seed, random.before);
    case Sampling::kBatchRebalance:
      return random_permutation(options.samples, kRebalanceSeed + static_cast<uint64_t>(epoch));
    case Sampling::kGroupByLength:
      return length_grouped_order(*options.lengths, options.length_group, random.seed, random.before);
    case Sampling::kSortish:
      return sortish_order(*options.lengths, options.length_group, seed);
    case Sampling::kLongestFirst:
      return longest_first_order(*options.lengths);
    case Sampling::kSequential:
      break;
  }
  std::vector<int64_t> order(static_cast<size_t>(options.samples));
  std::iota(order.begin(), order.end(), int64_t{0});
  return order;
}

// The batches of an epoch before they are dealt out to ranks, seen through their numbers.
class EpochOrder {
 public:
  EpochOrder(const SamplerOptions& options, int64_t epoch)
      : order_(sample_order(options, epoch)), batch_size_(options.batch_size) {
    order_.erase(order_.begin(), order_.begin() + options.skip);
  }

  int64_t size() const { return static_cast<int64_t>(order_.size()); }
  const std::vector<int64_t>& samples() const { return order_; }
  Batch slice(int64_t begin, int64_t end) const {
    return Batch(order_.begin() + std::min(begin, size()), order_.begin() + std::min(end, size()));
  }
  Batch batch(int64_t number) const { return slice(number * batch_size_, (number + 1) * batch_size_); }

 private:
  std::vector<int64_t> order_;
  int64_t batch_size_;
};

int64_t total_batches(const SamplerOptions& options) {
  const int64_t full = options.left() / options.batch_size;
  const bool short_one = options.left() % options.batch_size != 0 && !options.drop_last;
  return full + (short_one ? 1 : 0);
}

// Fills `batch` up to `size` entries from the start of the epoch, beginning at `position` of it and going
// round.
void fill_from_start(Batch& batch, const Batch& start, int64_t size, int64_t& position) {
  while (static_cast<int64_t>(batch.size()) < size) {
    batch.push_back(start[static_cast<size_t>(position++) % start.size()]);
  }
}

std::vector<Batch> plain_batches(const SamplerOptions& options, const EpochOrder& order) {
  std::vector<Batch> batches;
  for (int64_t k = 0; k < total_batches(options); ++k) batches.push_back(order.batch(k));
  return batches;
}

// split_batches: every batch is cut into equal slices, one per rank.
std::vector<Batch> sliced_batches(const SamplerOptions& options, const EpochOrder& order) {
  const int64_t slice = options.batch_size / options.world_size;
  std::vector<Batch> batches;
  for (int64_t k = 0; k < total_batches(options); ++k) {
    Batch whole = order.batch(k);
    int64_t position = 0;
    if (options.even_batches) fill_from_start(whole, order.batch(0), options.batch_size, position);
    const auto size = static_cast<int64_t>(whole.size());
    const int64_t begin = std::min(size, slice * options.rank);
    const int64_t end = std::min(size, begin + slice);
    if (begin < end) batches.emplace_back(whole.begin() + begin, whole.begin() + end);
  }
  return batches;
}

// Deals whole batches out in rounds of one per rank. A round counts only when its last batch is full; what
// follows the last such round is treated as `options` say.
std::vector<Batch> dealt_batches(const SamplerOptions& options, const EpochOrder& order) {
  const int64_t world = options.world_size;
  const int64_t full = options.left() / options.batch_size;
  const int64_t total = total_batches(options);
  const int64_t rounds = full / world;
  std::vector<Batch> batches;
  for (int64_t round = 0; round < rounds; ++round)
    batches.push_back(order.batch(round * world + options.rank));
  const int64_t own =
      rounds * world + options.rank;  // the number of this rank's batch in the unfinished round
  if (options.drop_last || rounds * world == total) return batches;
  if (own < full || (!options.even_batches && own < total)) {
    batches.push_back(order.batch(own));
  } else if (options.even_batches) {
    // The batches from the short (or first missing) one on are filled one after another from the epoch's
    // start.
    const Batch start = order.slice(0, world * options.batch_size);
    int64_t position = 0;
    Batch batch;
    for (int64_t k = full; k <= own; ++k) {
      batch = order.batch(k);
      fill_from_start(batch, start, options.batch_size, position);
    }
    batches.push_back(std::move(batch));
  }
  return batches;
}

// The samples of a round are cut into one part per rank. Those of an unfinished last one that are no multiple of
// the ranks get the epoch's first ones as well, one of a rank at most.
std::vector<Batch> dispatched_batches(const SamplerOptions& options, const EpochOrder& order) {
  const int64_t world = options.world_size, round = options.round();
  std::vector<Batch> batches;
  for (int64_t begin = 0; begin < order.size(); begin += round) {
    Batch whole = order.slice(begin, begin + round);
    if (options.drop_last && static_cast<int64_t>(whole.size()) < round) break;
    const int64_t part = (static_cast<int64_t>(whole.size()) + world - 1) / world;
    int64_t position = 0;
    fill_from_start(whole, order.slice(0, world), part * world, position);
    const auto own = whole.begin() + part * options.rank;
    batches.emplace_back(own, own + part);
  }
  return batches;
}

RebalanceShape rebalance_shape(const SamplerOptions& options) {
  return {.update_size = options.batch_size * options.world_size * options.accumulation_steps,
          .ranks = options.world_size,
          .micro_batches = options.accumulation_steps};
}

bool lengths_are_sound(const SamplerOptions& options) {
  if (options.sampling == Sampling::kRandom || options.sampling == Sampling::kSequential) return true;
  const bool grouped = options.sampling == Sampling::kGroupByLength || options.sampling == Sampling::kSortish;
  return options.lengths && static_cast<int64_t>(options.lengths->size()) == options.samples &&
         (!grouped || options.length_group > 0) && options.accumulation_steps > 0;
}

void check(const SamplerOptions& options) {
  const bool sound = options.samples >= 0 && options.skip >= 0 && options.skip <= options.samples &&
                     options.batch_size > 0 && options.world_size > 0 && options.rank >= 0 &&
                     options.rank < options.world_size;
  if (!sound) throw Error(ExitCode::kInternal, "impossible sampler options");
  if (options.split_batches && options.batch_size % options.world_size != 0) {
    throw Error(ExitCode::kUsage, "the batch size cannot be split evenly over the ranks")
        .where("split_batches")
        .why("a batch of " + std::to_string(options.batch_size) + " samples is not a multiple of " +
             std::to_string(options.world_size) + " ranks")
        .hint("choose a batch size that is");
  }
}

// The first round of an epoch whose round at `begin` has `count` samples.
Batch first_round(const SamplerOptions& options, int64_t begin, int64_t count) {
  Batch first(static_cast<size_t>(begin == options.skip ? count : options.round()));
  std::iota(first.begin(), first.end(), options.skip);
  return first;
}

}  // namespace

int64_t batches_per_epoch(const SamplerOptions& options) {
  check(options);
  if (options.sampling == Sampling::kBatchRebalance) {
    const int64_t size = rebalance_shape(options).update_size;
    const int64_t updates = (options.left() + (options.drop_last ? 0 : size - 1)) / size;
    return updates * options.accumulation_steps;
  }
  const int64_t total = total_batches(options);
  if (options.world_size == 1 || options.split_batches) return total;
  const int64_t share = total / options.world_size;
  const int64_t rest = total % options.world_size;
  if (rest == 0 || options.drop_last) return share;
  return options.even_batches || options.dispatched || options.rank < rest ? share + 1 : share;
}

std::vector<std::vector<int64_t>> epoch_batches(const SamplerOptions& options, int64_t epoch) {
  check(options);
  if (!lengths_are_sound(options))
    throw Error(ExitCode::kInternal, "a sampler that looks at lengths has none");
  const EpochOrder order(options, epoch);
  if (options.sampling == Sampling::kBatchRebalance) {
    return rebalanced_batches(order.samples(), *options.lengths, rebalance_shape(options), options.rank,
                              options.drop_last);
  }
  if (options.world_size == 1) return plain_batches(options, order);
  if (options.dispatched) return dispatched_batches(options, order);
  if (options.split_batches) return sliced_batches(options, order);
  return dealt_batches(options, order);
}

std::vector<std::vector<int64_t>> stream_round(const SamplerOptions& options, int64_t begin, int64_t count) {
  check(options);
  if (count == 0 || (options.drop_last && count < options.round())) return {};
  Batch whole(static_cast<size_t>(count));
  std::iota(whole.begin(), whole.end(), begin);
  const int64_t world = options.world_size;
  if (world == 1) return {whole};
  Batch start = first_round(options, begin, count);
  int64_t part = options.round() / world, position = 0;
  if (options.dispatched) {
    part = (count + world - 1) / world;
    start.resize(std::min(start.size(), static_cast<size_t>(world)));
  }
  fill_from_start(whole, start, part * world, position);
  std::vector<Batch> batches;
  for (int64_t rank = 0; rank < world; ++rank)
    batches.emplace_back(whole.begin() + rank * part, whole.begin() + (rank + 1) * part);
  return batches;
}

}  // namespace hftrain::data

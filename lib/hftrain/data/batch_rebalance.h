// Micro-batches of about one cost: transformers 5.17, trainer_pt_utils.BatchRebalanceSampler.
//
// The samples of one update are sorted from long to short and cut into one group for each rank and micro-batch.
// Samples move from the dearest group to the cheapest one until none is left to move; a group's cost is
// size * longest + 0.001 * size * longest^2. So groups of short samples have more of them, and all ranks are through
// with a micro-batch at about the same time.
#pragma once

#include <cstdint>
#include <vector>

namespace hftrain::data {

struct RebalanceShape {
  int64_t update_size = 8;  // samples of an update, of all ranks; at least ranks * micro_batches
  int ranks = 1;
  int64_t micro_batches = 1;  // of a rank in an update

  int64_t groups() const { return ranks * micro_batches; }
};

// The groups of one update: for each micro-batch those of all ranks, one after another; no group is empty.
// `samples`: at least groups() of them, their numbers; `lengths`: of all samples of the data set, in tokens.
std::vector<std::vector<int64_t>> rebalanced_groups(const std::vector<int64_t>& samples,
                                                    const std::vector<int32_t>& lengths,
                                                    const RebalanceShape& shape);

// The micro-batches of `rank` in an epoch of that order. The last update may have fewer samples than the others, and
// what it lacks to one of every group is repeated from the start of the order; `drop_last` leaves it out.
std::vector<std::vector<int64_t>> rebalanced_batches(const std::vector<int64_t>& order,
                                                     const std::vector<int32_t>& lengths,
                                                     const RebalanceShape& shape, int rank, bool drop_last);

}  // namespace hftrain::data

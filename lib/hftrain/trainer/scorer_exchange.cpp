#include "hftrain/trainer/scorer_exchange.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

namespace hftrain::trainer {
namespace {

// [W, 1 + the longest state]: the number of numbers of each rank, and these.
at::Tensor states_of_all(comm::Communicator& communicator, const std::vector<double>& own) {
  const int64_t longest = communicator.maximum(static_cast<int64_t>(own.size()));
  const at::Tensor mine = at::zeros({1 + longest}, at::kDouble);
  auto* numbers = mine.mutable_data_ptr<double>();
  numbers[0] = static_cast<double>(own.size());
  std::copy(own.begin(), own.end(), numbers + 1);
  const at::Tensor sent = mine.to(communicator.device());
  const at::Tensor all = at::empty({communicator.world_size(), 1 + longest}, sent.options());
  communicator.all_gather(all, sent);
  return all.cpu();
}

}  // namespace

std::unique_ptr<tasks::Scorer> scorer_of_all(comm::Communicator& communicator,
                                             std::unique_ptr<tasks::Scorer> own, const ScorerMaker& make) {
  if (communicator.world_size() == 1) return own;
  const std::vector<double> state = own->state();
  own.reset();
  const at::Tensor all = states_of_all(communicator, state);
  std::unique_ptr<tasks::Scorer> whole = make();
  for (int64_t rank = 0; rank < all.size(0); ++rank) {
    const double* row = all.const_data_ptr<double>() + rank * all.size(1);
    whole->merge({row + 1, static_cast<size_t>(row[0])});
  }
  return whole;
}

}  // namespace hftrain::trainer

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

ScorerExchange::ScorerExchange(comm::Communicator& communicator, const ScorerMaker& make,
                               const tasks::ResultPlace* place)
    : communicator_(communicator), make_(make), place_(place), own_(make()) {
  if (communicator.world_size() == 1) {
    own_->expect_all(place);
  } else if (own_->goes_in_pieces()) {
    whole_ = make();
    whole_->expect_all(place);
  }
}

void ScorerExchange::merge(const std::vector<double>& own) {
  const at::Tensor all = states_of_all(communicator_, own);
  for (int64_t rank = 0; rank < all.size(0); ++rank) {
    const double* row = all.const_data_ptr<double>() + rank * all.size(1);
    whole_->merge({row + 1, static_cast<size_t>(row[0])});
  }
}

void ScorerExchange::hand_on() {
  if (!whole_) return;
  const std::vector<double> state = own_->state();
  own_->forget();
  merge(state);
}

std::unique_ptr<tasks::Scorer> ScorerExchange::finish() {
  if (communicator_.world_size() == 1) return std::move(own_);
  const std::vector<double> state = own_->state();
  own_.reset();
  if (!whole_) {
    whole_ = make_();
    whole_->expect_all(place_);
  }
  merge(state);
  return std::move(whole_);
}

}  // namespace hftrain::trainer

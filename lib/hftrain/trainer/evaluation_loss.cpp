#include "hftrain/trainer/evaluation_loss.h"

#include <algorithm>
#include <array>

namespace hftrain::trainer {
namespace {

// Sums `count` numbers that `next` gives, one after another, as NumPy sums an array of one type (pairwise_sum in its
// loops_utils.h): halves of a multiple of eight numbers down to 128, and those in eight sums beside each other.
template <typename Next>
float pairwise_sum(int64_t count, Next& next) {
  constexpr int64_t kLanes = 8, kBlock = 128;
  if (count > kBlock) {
    const int64_t first = count / 2 / kLanes * kLanes;
    const float sum = pairwise_sum(first, next);
    return sum + pairwise_sum(count - first, next);
  }
  float sum = 0;
  int64_t done = 0;
  if (count >= kLanes) {
    std::array<float, kLanes> lanes{};
    for (; done < count / kLanes * kLanes; ++done) lanes[static_cast<size_t>(done % kLanes)] += next();
    sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  }
  for (; done < count; ++done) sum += next();
  return sum;
}

}  // namespace

void EvaluationLoss::add(const std::vector<std::optional<float>>& losses) {
  for (const std::optional<float>& loss : losses) {
    const int64_t entries = std::clamp<int64_t>(left_, 0, batch_size_);
    left_ -= entries;
    if (!loss || entries == 0) continue;
    runs_.push_back({*loss, entries});
    count_ += entries;
  }
}

float EvaluationLoss::mean() const {
  if (count_ == 0) return 0;
  auto run = runs_.begin();
  int64_t taken = 0;
  const auto next = [&] {
    if (taken == run->entries) {
      ++run;
      taken = 0;
    }
    ++taken;
    return run->loss;
  };
  return pairwise_sum(count_, next) / static_cast<float>(count_);
}

}  // namespace hftrain::trainer

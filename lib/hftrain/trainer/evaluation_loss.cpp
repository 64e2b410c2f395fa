#include "hftrain/trainer/evaluation_loss.h"

#include <algorithm>

namespace hftrain::trainer {

void EvaluationLoss::add(const std::vector<std::optional<float>>& losses) {
  for (const std::optional<float>& loss : losses) {
    const int64_t entries = std::clamp<int64_t>(left_, 0, batch_size_);
    left_ -= entries;
    if (!loss) continue;
    sum_ += static_cast<double>(*loss) * static_cast<double>(entries);
    count_ += entries;
  }
}

}  // namespace hftrain::trainer

#include "hftrain/trainer/steps_together.h"

#include <array>

namespace hftrain::trainer {

std::span<const float> StepsTogether::start() {
  any(true);
  return model_.start();
}

std::span<const float> StepsTogether::next(std::span<const int64_t> tokens,
                                           std::span<const int64_t> parents) {
  any(true);
  return model_.next(tokens, parents);
}

void StepsTogether::finish() {
  const std::array token{filler_}, first_row{int64_t{0}};
  while (any(false)) model_.next(token, first_row);
}

}  // namespace hftrain::trainer

#include "hftrain/trainer/evaluated_set.h"

namespace hftrain::trainer {

const plan::SplitPlan* EvaluatedSet::of(const plan::DataPlan& data) const {
  const std::optional<plan::SplitPlan>& found =
      predicted() ? (mismatched ? data.test_mismatched : data.test)
                  : (mismatched ? data.validation_mismatched : data.validation);
  return found ? &*found : nullptr;
}

}  // namespace hftrain::trainer

#include "hftrain/trainer/label_counts.h"

#include "hftrain/models/objective.h"
#include "hftrain/plan/release_habits.h"

namespace hftrain::trainer {

int64_t counted_labels(const plan::RunPlan& plan, const architectures::Architecture& architecture,
                       const models::Batch& batch) {
  const plan::ReleaseHabits habits{plan.release};
  if (architecture.head() == architectures::Head::kCausalLm) {
    if (plan.optimizer.label_smoothing > 0 && habits.smooths_over_predicted())
      return models::predicted_label_count(batch);
    if (habits.counts_first_labels()) return models::all_label_count(batch);
  }
  return models::label_count(architecture, batch);
}

}  // namespace hftrain::trainer

#include "hftrain/trainer/run_headers.h"

#include "hftrain/reporting/console_text.h"

namespace hftrain::trainer {

std::string header_of_training(const plan::RunPlan& plan) {
  return reporting::training_header(
      {.examples = plan.data.stream
                       ? plan.steps.samples_for_speed  // as the Trainer, which does not know either
                   : plan.data.train ? plan.data.train->samples
                                     : 0,
       .epochs = plan.steps.epochs,
       .updates_per_epoch = plan.steps.updates_per_epoch,
       .batch_per_device = plan.batch.per_device_train,
       .total_batch = plan.batch.global_train,
       .accumulation_steps = plan.batch.accumulation_steps,
       .total_steps = plan.steps.max_steps,
       .trainable_parameters = plan.model.trainable_parameters});
}

std::string header_of_resume(const plan::RunPlan& plan, const State& state, int64_t round) {
  const DataPosition& at = state.position;
  const int64_t batches = at.before / round + at.batch, epoch = plan.steps.batches_per_epoch;
  const bool through = epoch > 0 && batches >= epoch;  // its end is still to come, but no batch of it
  return reporting::resume_header(through ? at.epoch + 1 : at.epoch, state.global_step, through ? 0 : batches,
                                  plan.data.ignore_data_skip);
}

std::string line_of_rank(const plan::RunPlan& plan, int rank) {
  const plan::RankPlan& place = plan.ranks.ranks.at(static_cast<size_t>(rank));
  const bool on_gpu = place.device == plan::DeviceKind::kCuda;
  const std::string device =
      on_gpu ? "cuda:" + std::to_string(place.ordinal) + " (" + place.device_name + ')' : "cpu";
  const std::string& compute = plan.precision.compute;
  return "Process rank: " + std::to_string(rank) + " of " + std::to_string(plan.ranks.world_size) +
         ", device: " + device + ", threads: " + std::to_string(place.threads) +
         ", distributed training: " + (plan.ranks.world_size > 1 ? "yes" : "no") +
         ", 16-bits training: " + (compute == "float32" ? "no" : compute);
}

}  // namespace hftrain::trainer

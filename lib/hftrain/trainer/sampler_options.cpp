#include "hftrain/trainer/sampler_options.h"

#include "hftrain/data/length_column.h"

namespace hftrain::trainer {
namespace {

using data::Sampling;

// The Trainer's samplers see rows as the script has tokenised them, and the older examples' what they were made of.
bool counts_padding(Sampling sampling) {
  return sampling == Sampling::kGroupByLength || sampling == Sampling::kBatchRebalance;
}

data::SamplerOptions sampler_of(const plan::RunPlan& plan, const comm::Communicator& communicator,
                                const data::Dataset& split, Sampling sampling) {
  data::SamplerOptions options;
  options.samples = split.size();
  options.rank = communicator.rank();
  options.world_size = communicator.world_size();
  options.seed = plan.data.seed;
  options.sampling = sampling;
  options.drop_last = plan.data.drop_last;
  options.even_batches = plan.data.even_batches;
  options.split_batches = plan.data.split_batches;
  if (sampling != Sampling::kRandom && sampling != Sampling::kSequential)
    options.lengths =
        data::lengths_of_samples(split, counts_padding(sampling) ? plan.data.padding.length : 0);
  return options;
}

}  // namespace

data::SamplerOptions training_sampler(const plan::RunPlan& plan, const comm::Communicator& communicator,
                                      const data::Dataset& split) {
  data::SamplerOptions options =
      sampler_of(plan, communicator, split, data::sampling_named(plan.data.sampling));
  options.batch_size = plan.batch.per_device_train;
  options.accumulation_steps = plan.batch.accumulation_steps;
  // The examples' sampler knew nothing of accumulation.
  options.length_group = options.batch_size;
  options.dispatched = plan.data.dispatch_batches;
  if (options.sampling == Sampling::kGroupByLength) options.length_group *= options.accumulation_steps;
  return options;
}

data::SamplerOptions evaluation_sampler(const plan::RunPlan& plan, const comm::Communicator& communicator,
                                        const data::Dataset& split) {
  const bool grouped = data::sampling_named(plan.data.sampling) == Sampling::kGroupByLength;
  data::SamplerOptions options =
      sampler_of(plan, communicator, split, grouped ? Sampling::kGroupByLength : Sampling::kSequential);
  options.batch_size = options.length_group = plan.batch.per_device_eval;
  return options;
}

}  // namespace hftrain::trainer

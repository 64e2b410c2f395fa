// Trainer: what it trains on, and in which order.
#include <ATen/ops/empty.h>

#include <optional>
#include <utility>
#include <vector>

#include "hftrain/trainer/components.h"
#include "hftrain/trainer/sampler_options.h"
#include "hftrain/trainer/streamed_rounds.h"
#include "hftrain/trainer/trainer.h"

namespace hftrain::trainer {

// As torch's RandomSampler, which takes a seed from the global generator for every epoch, after one that the loader
// draws for its worker processes; and as accelerate, which with several ranks makes one generator for all epochs. An epoch
// that began with a drawn order keeps it, also where a run goes on in it with one rank, whose orders are not.
void Trainer::draw_order() {
  const bool one_for_all = communicator_.world_size() > 1;
  if (!plan_.data.draws_order(communicator_.world_size())) {
    state_.order_seed.reset();
    return;
  }
  if (one_for_all && state_.order_seed) return;
  const auto draw = [] { return at::empty({}, at::kLong).random_().item<int64_t>(); };
  if (!one_for_all) draw();
  const std::vector<std::string> drawn = communicator_.all_gather_text(std::to_string(draw()));
  state_.order_seed = std::stoull(drawn.front());
  state_.order_epoch = state_.position.epoch;
}

std::optional<data::DrawnOrder> Trainer::drawn_order() const {
  if (plan_.data.seedable_sampler || !state_.order_seed) return std::nullopt;
  // RandomSampler draws another permutation at the end of each pass, and takes nothing of it; LengthGroupedSampler none.
  const int64_t of_pass = data::sampling_named(plan_.data.sampling) == data::Sampling::kRandom ? 2 : 1;
  return data::DrawnOrder{*state_.order_seed, of_pass * (state_.position.epoch - state_.order_epoch)};
}

std::unique_ptr<BatchSource> Trainer::open_training_data() {
  std::unique_ptr<BatchLoader> planned = open_planned_data();
  if (!own_loaders_.train) return planned;
  return own_training_batches(std::move(planned), own_loaders_.train, plan_, communicator_);
}

std::unique_ptr<BatchLoader> Trainer::open_planned_data() {
  const bool sends = plan_.data.dispatch_batches;
  const Reads reads = !sends ? Reads::kOwn : communicator_.rank() == 0 ? Reads::kAll : Reads::kNothing;
  BatchLoader::Options options = BatchLoader::of_plan(plan_.data, context_.device);
  if (sends) options.dispatcher = &communicator_;
  std::unique_ptr<RoundSource> rounds;
  if (plan_.data.stream) {
    auto wait = std::make_shared<DataWait>(events_, [] { return StopRequest::seen() != StopSignal::kNone; });
    // Where ranks read the same, one of them is enough to tell of it.
    const bool tells = speaks() || plan_.data.stream->by_files;
    rounds = streamed_rounds(plan_, communicator_, reads,
                             {.wait = std::move(wait), .tell = [this, tells](const std::string& remark) {
                                if (tells) events_.message(LogLevel::kWarning, remark);
                              }});
  } else {
    std::shared_ptr<const data::Dataset> dataset = open_split(*plan_.data.train);
    const data::SamplerOptions sampler = training_sampler(plan_, communicator_, *dataset);
    options.length_group = sampler.length_group;
    rounds = ordered_rounds(std::move(dataset), sampler, reads);
  }
  return std::make_unique<BatchLoader>(
      std::move(rounds), make_collator(plan_.data, *plan_.data.train, /*trains=*/true), options);
}

void Trainer::begin_epoch_again(BatchSource& loader) {
  if (own_loaders_.train && state_.position.of_other_batches) {  // it cannot be asked for that place
    state_.position = {state_.position.epoch};
    return;
  }
  loader.seek(state_.position);
  const bool through = loader.at_end(state_.position);
  if (!through && state_.global_step < plan_.steps.max_steps) state_.position = {state_.position.epoch};
}

}  // namespace hftrain::trainer

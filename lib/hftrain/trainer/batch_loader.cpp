#include "hftrain/trainer/batch_loader.h"

#include <ATen/ops/empty.h>

#include <utility>

#include "hftrain/trainer/batch_dispatch.h"

namespace hftrain::trainer {

namespace {

at::Tensor empty_tensor(const data::TensorShape& shape, bool pinned) {
  const at::ScalarType type = shape.type == data::TensorType::kFloat32 ? at::kFloat : at::kLong;
  return at::empty(shape.sizes, at::TensorOptions().dtype(type).pinned_memory(pinned));
}

}  // namespace

BatchLoader::BatchLoader(std::unique_ptr<RoundSource> rounds, std::shared_ptr<const data::Collator> collator,
                         const Options& options)
    : rounds_(std::move(rounds)),
      collator_(std::move(collator)),
      options_(options),
      threads_(options.workers, options.device) {}

BatchLoader::BatchLoader(std::shared_ptr<const data::Dataset> dataset,
                         std::shared_ptr<const data::Collator> collator, const data::SamplerOptions& sampler,
                         int64_t prefetch, bool pin_memory)
    : BatchLoader(ordered_rounds(std::move(dataset), sampler, Reads::kOwn), std::move(collator),
                  {.seed = sampler.seed,
                   .prefetch = prefetch,
                   .pin_memory = pin_memory,
                   .length_group = sampler.length_group}) {}

BatchLoader::~BatchLoader() = default;

BatchLoader::Options BatchLoader::of_plan(const plan::DataPlan& data, at::Device device) {
  return {.seed = data.seed,
          .workers = data.loader_workers,
          .prefetch = data.loader_workers * data.prefetch_factor,
          .pin_memory = data.pin_memory && device.is_cuda(),
          .device = device};
}

bool BatchLoader::reads() const {
  return options_.dispatcher == nullptr || options_.dispatcher->rank() == 0;
}

void BatchLoader::seek(DataPosition position, std::optional<data::DrawnOrder> drawn) {
  threads_.clear();
  pending_.clear();
  epoch_ = position.epoch;
  asked_ = ended_ = false;
  rounds_->seek(position, drawn);
}

bool BatchLoader::at_end(const DataPosition& position) {
  if (const std::optional<int64_t> known = batches()) return position.batch >= *known;
  return ended_ || (asked_ && options_.dispatcher == nullptr && nothing_seems_left());
}

// What cannot be read is a failure of whoever needs it: the batches before it are trained on, and a run that needs no more
// ends well.
bool BatchLoader::nothing_seems_left() {
  try {
    return left() == RoundsLeft::kNone;
  } catch (const Error&) {
    return false;
  }
}

std::optional<LoadedBatch> BatchLoader::next() {
  if (ended_) return std::nullopt;
  asked_ = true;
  if (!reads()) return receive();
  if (const RoundsLeft left = this->left(); left != RoundsLeft::kSome) {
    ended_ = left == RoundsLeft::kNone;
    if (options_.dispatcher != nullptr) send_no_batch(*options_.dispatcher, ended_);
    return std::nullopt;
  }
  Round round = next_round();
  schedule_ahead();
  if (options_.dispatcher != nullptr) {
    ended_ = nothing_seems_left();
    send_batches(*options_.dispatcher, round, ended_);
  }
  return std::move(round.front());
}

std::optional<LoadedBatch> BatchLoader::receive() {
  ReceivedBatch received = receive_batch(*options_.dispatcher, options_.pin_memory);
  ended_ = received.last;
  return std::move(received.batch);
}

BatchLoader::Round BatchLoader::next_round() {
  schedule_ahead();
  if (pending_.empty()) return assemble(rounds_->next(), epoch_);
  std::future<Round> round = std::move(pending_.front());
  pending_.pop_front();
  return round.get();
}

// Never waits for data: what is there already is to be trained on meanwhile.
void BatchLoader::schedule_ahead() {
  while (static_cast<int64_t>(pending_.size()) < options_.prefetch && rounds_->ready() &&
         rounds_->left() == RoundsLeft::kSome) {
    pending_.push_back(
        threads_.add([this, round = rounds_->next(), epoch = epoch_] { return assemble(round, epoch); }));
  }
}

BatchLoader::Round BatchLoader::assemble(const BatchRound& round, int64_t epoch) const {
  Round batches;
  for (const auto& samples : round.batches) batches.push_back(assemble(*round.dataset, samples, epoch));
  return batches;
}

LoadedBatch BatchLoader::assemble(const data::Dataset& dataset, const std::vector<int64_t>& samples,
                                  int64_t epoch) const {
  const std::vector<data::TensorShape> shapes = collator_->shapes(dataset, samples);
  LoadedBatch batch{.samples = samples};
  std::vector<at::Tensor> tensors;
  std::vector<void*> memory;
  for (const data::TensorShape& shape : shapes) {
    tensors.push_back(shape.same_as ? tensors[*shape.same_as] : empty_tensor(shape, options_.pin_memory));
    memory.push_back(shape.same_as ? nullptr : tensors.back().mutable_data_ptr());
    put_column(batch.tensors, shape.name, tensors.back());
  }
  collator_->fill(dataset, samples, {.seed = options_.seed, .epoch = epoch}, memory);
  return batch;
}

}  // namespace hftrain::trainer

#include "hftrain/trainer/batch_loader.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "hftrain/trainer/batch_dispatch.h"

namespace hftrain::trainer {

namespace {

at::Tensor empty_tensor(const data::TensorShape& shape, bool pinned) {
  const at::ScalarType type = shape.type == data::TensorType::kFloat32 ? at::kFloat : at::kLong;
  return at::empty(shape.sizes, at::TensorOptions().dtype(type).pinned_memory(pinned));
}

}  // namespace

BatchLoader::BatchLoader(std::shared_ptr<const data::Dataset> dataset,
                         std::shared_ptr<const data::Collator> collator, data::SamplerOptions sampler,
                         int64_t prefetch, bool pin_memory, comm::Communicator* dispatcher)
    : dataset_(std::move(dataset)),
      collator_(std::move(collator)),
      sampler_(std::move(sampler)),
      length_group_(sampler_.length_group),
      prefetch_(prefetch),
      pin_memory_(pin_memory),
      dispatcher_(dispatcher) {}

BatchLoader::~BatchLoader() = default;

bool BatchLoader::reads() const {
  return dispatcher_ == nullptr || dispatcher_->rank() == 0;
}

void BatchLoader::seek(DataPosition position, std::optional<data::DrawnOrder> drawn) {
  pending_.clear();
  sampler_.drawn = drawn;
  sampler_.skip = std::min(position.before, sampler_.samples);
  sampler_.length_group = position.length_group > 0 ? position.length_group : length_group_;
  epoch_ = position.epoch;
  order_ = data::epoch_batches(sampler_, position.epoch);
  orders_ = {order_};
  for (int rank = 1; dispatcher_ != nullptr && reads() && rank < dispatcher_->world_size(); ++rank) {
    data::SamplerOptions other = sampler_;
    other.rank = rank;
    orders_.push_back(data::epoch_batches(other, position.epoch));
  }
  next_ = scheduled_ = static_cast<size_t>(position.batch);
}

double BatchLoader::share_done(const DataPosition& position) const {
  const auto samples = [&](int64_t count) {
    return static_cast<double>(position.before + count * sampler_.round());
  };
  return samples(position.batch) / samples(batches());
}

std::optional<LoadedBatch> BatchLoader::next() {
  if (next_ >= order_.size()) return std::nullopt;
  if (!reads()) {
    LoadedBatch batch = receive_batch(*dispatcher_, pin_memory_);
    batch.samples = order_[next_++];
    return batch;
  }
  Round round = next_round();
  ++next_;
  schedule_ahead();
  if (dispatcher_ != nullptr) send_batches(*dispatcher_, round);
  return std::move(round.front());
}

BatchLoader::Round BatchLoader::next_round() {
  if (prefetch_ == 0) return assemble(next_);
  schedule_ahead();
  Round round = pending_.front().get();
  pending_.pop_front();
  return round;
}

void BatchLoader::schedule_ahead() {
  while (scheduled_ < order_.size() && static_cast<int64_t>(pending_.size()) < prefetch_) {
    pending_.push_back(
        std::async(std::launch::async, [this, number = scheduled_++] { return assemble(number); }));
  }
}

BatchLoader::Round BatchLoader::assemble(size_t number) const {
  Round round;
  for (const auto& order : orders_) round.push_back(assemble(order[number]));
  return round;
}

LoadedBatch BatchLoader::assemble(const std::vector<int64_t>& samples) const {
  const std::vector<data::TensorShape> shapes = collator_->shapes(*dataset_, samples);
  LoadedBatch batch{.samples = samples};
  std::vector<at::Tensor> tensors;
  std::vector<void*> memory;
  for (const data::TensorShape& shape : shapes) {
    tensors.push_back(shape.same_as ? tensors[*shape.same_as] : empty_tensor(shape, pin_memory_));
    memory.push_back(shape.same_as ? nullptr : tensors.back().mutable_data_ptr());
    put_column(batch.tensors, shape.name, tensors.back());
  }
  collator_->fill(*dataset_, samples, {.seed = sampler_.seed, .epoch = epoch_}, memory);
  return batch;
}

}  // namespace hftrain::trainer

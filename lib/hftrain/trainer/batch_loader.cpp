#include "hftrain/trainer/batch_loader.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "hftrain/base/error.h"

namespace hftrain::trainer {

namespace {

at::Tensor models::Batch::*member_named(const std::string& name) {
  const auto column = std::find_if(models::kBatchColumns.begin(), models::kBatchColumns.end(),
                                   [&](const models::BatchColumn& one) { return one.name == name; });
  if (column == models::kBatchColumns.end())
    throw Error(ExitCode::kInternal, "a batch has no column '" + name + "'");
  return column->member;
}

void put_column(models::Batch& batch, const std::string& name, const at::Tensor& tensor) {
  batch.*member_named(name) = tensor;
}

at::Tensor empty_tensor(const data::TensorShape& shape, bool pinned) {
  const at::ScalarType type = shape.type == data::TensorType::kFloat32 ? at::kFloat : at::kLong;
  return at::empty(shape.sizes, at::TensorOptions().dtype(type).pinned_memory(pinned));
}

}  // namespace

const at::Tensor& column_of(const models::Batch& batch, const std::string& name) {
  return batch.*member_named(name);
}

models::Batch on_device(const models::Batch& batch, at::Device device) {
  models::Batch moved;
  for (size_t i = 0; i < models::kBatchColumns.size(); ++i) {
    const at::Tensor& tensor = batch.*models::kBatchColumns[i].member;
    if (!tensor.defined()) continue;
    size_t first = 0;  // of the columns that are this tensor
    while (!(batch.*models::kBatchColumns[first].member).is_same(tensor)) ++first;
    moved.*models::kBatchColumns[i].member =
        first < i ? moved.*models::kBatchColumns[first].member : tensor.to(device, /*non_blocking=*/true);
  }
  return moved;
}

BatchLoader::BatchLoader(std::shared_ptr<const data::Dataset> dataset,
                         std::shared_ptr<const data::Collator> collator, data::SamplerOptions sampler,
                         int64_t prefetch, bool pin_memory)
    : dataset_(std::move(dataset)),
      collator_(std::move(collator)),
      sampler_(std::move(sampler)),
      length_group_(sampler_.length_group),
      prefetch_(prefetch),
      pin_memory_(pin_memory) {}

BatchLoader::~BatchLoader() = default;

void BatchLoader::seek(DataPosition position) {
  pending_.clear();
  sampler_.skip = std::min(position.before, sampler_.samples);
  sampler_.length_group = position.length_group > 0 ? position.length_group : length_group_;
  epoch_ = position.epoch;
  order_ = data::epoch_batches(sampler_, position.epoch);
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
  if (prefetch_ == 0) return assemble(order_[next_++]);
  schedule_ahead();
  LoadedBatch batch = pending_.front().get();
  pending_.pop_front();
  ++next_;
  schedule_ahead();
  return batch;
}

void BatchLoader::schedule_ahead() {
  while (scheduled_ < order_.size() && static_cast<int64_t>(pending_.size()) < prefetch_) {
    const std::vector<int64_t>& samples = order_[scheduled_++];
    pending_.push_back(std::async(std::launch::async, [this, &samples] { return assemble(samples); }));
  }
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

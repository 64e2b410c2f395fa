#include "hftrain/trainer/batch_loader.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "hftrain/base/error.h"

namespace hftrain::trainer {

BatchLoader::BatchLoader(std::shared_ptr<const data::TokenDataset> dataset, data::SamplerOptions sampler,
                         int64_t prefetch, bool pin_memory)
    : dataset_(std::move(dataset)), sampler_(sampler), prefetch_(prefetch), pin_memory_(pin_memory) {}

BatchLoader::~BatchLoader() = default;

void BatchLoader::seek(DataPosition position) {
  pending_.clear();
  sampler_.skip = std::min(position.before, sampler_.samples);
  order_ = data::epoch_batches(sampler_, position.epoch);
  next_ = scheduled_ = static_cast<size_t>(position.batch);
}

double BatchLoader::share_done(const DataPosition& position) const {
  const auto samples = [&](int64_t count) {
    return static_cast<double>(position.before + count * sampler_.round());
  };
  return samples(position.batch) / samples(batches());
}

std::optional<TokenBatch> BatchLoader::next() {
  if (next_ >= order_.size()) return std::nullopt;
  if (prefetch_ == 0) return assemble(order_[next_++]);
  schedule_ahead();
  TokenBatch batch = pending_.front().get();
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

TokenBatch BatchLoader::assemble(const std::vector<int64_t>& samples) const {
  const int64_t length = dataset_->length(samples.front());
  const auto rows = static_cast<int64_t>(samples.size());
  at::Tensor ids = at::empty({rows, length}, at::TensorOptions().dtype(at::kLong).pinned_memory(pin_memory_));
  int64_t* row = ids.data_ptr<int64_t>();
  for (const int64_t sample : samples) {
    if (dataset_->length(sample) != length) {
      throw Error(ExitCode::kData, "samples of different lengths in one batch")
          .why("causal language modelling trains on blocks of one length")
          .hint("prepare the data again with --overwrite_cache");
    }
    dataset_->copy_to(sample, row);
    row += length;
  }
  return {std::move(ids), samples};
}

}  // namespace hftrain::trainer

// Data loaders: training on rows that count upwards, made up as they are needed, and the same in evaluation and prediction, where each
// row stands for one of the split.
#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "hftrain/program/trainer.h"

namespace {

hftrain::Batch counting(int64_t first, int64_t rows, int64_t length) {
  const at::Tensor starts = (at::arange(rows) + first).mul(37).unsqueeze(1);
  const at::Tensor ids = (starts + at::arange(length)).remainder(500);
  return {{"input_ids", ids}, {"labels", ids}};
}

class Counting final : public hftrain::DataLoader {
 public:
  Counting(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  void begin_epoch(int64_t epoch, int64_t skip) override {
    epoch_ = epoch;
    next_ = skip;
  }
  std::optional<hftrain::Batch> next() override {
    if (next_ == kBatches) return std::nullopt;
    const int64_t batch = epoch_ * kBatches + next_++;
    return counting((batch * ranks_ + rank_) * kRows, kRows, 64);
  }
  std::optional<int64_t> length() const override { return kBatches; }

 private:
  static constexpr int64_t kBatches = 6, kRows = 4;  // of an epoch; of a batch
  int rank_, ranks_;
  int64_t epoch_ = 0, next_ = 0;
};

class InPlaceOf final : public hftrain::DataLoader {
 public:
  explicit InPlaceOf(std::unique_ptr<hftrain::DataLoader> of_run) : of_run_(std::move(of_run)) {}

  void begin_epoch(int64_t epoch, int64_t skip) override { of_run_->begin_epoch(epoch, skip); }
  std::optional<hftrain::Batch> next() override {
    const std::optional<hftrain::Batch> batch = of_run_->next();
    if (!batch) return std::nullopt;
    const at::Tensor& ids = batch->at("input_ids");
    return counting(ids.size(0), ids.size(0), ids.size(1));
  }

 private:
  std::unique_ptr<hftrain::DataLoader> of_run_;
};

class CountingTrainer final : public hftrain::Trainer {
 public:
  using Trainer::Trainer;

  std::unique_ptr<hftrain::DataLoader> get_train_dataloader() override {
    return std::make_unique<Counting>(about_run().rank, about_run().world_size);
  }
  std::unique_ptr<hftrain::DataLoader> get_eval_dataloader() override {
    return std::make_unique<InPlaceOf>(Trainer::get_eval_dataloader());
  }
  std::unique_ptr<hftrain::DataLoader> get_test_dataloader() override {
    return std::make_unique<InPlaceOf>(Trainer::get_test_dataloader());
  }
};

}  // namespace

int main(int argc, char** argv) {
  return hftrain::main<CountingTrainer>(argc, argv);
}

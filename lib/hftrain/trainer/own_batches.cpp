#include "hftrain/trainer/own_batches.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"

namespace hftrain::trainer {
namespace {

// What the run's loader was sought to, and what it gave last: shared between it and who watches it.
struct Watched {
  DataPosition position;
  std::optional<data::DrawnOrder> drawn;
  std::vector<int64_t> samples;
  int64_t calls = 0;
  bool ended = false;
};

class LoaderOfRun final : public OwnLoader {
 public:
  LoaderOfRun(std::unique_ptr<BatchLoader> loader, std::shared_ptr<Watched> watched, int64_t length)
      : loader_(std::move(loader)), watched_(std::move(watched)), length_(length) {}

  void begin_epoch(int64_t epoch, int64_t skip) override {
    const DataPosition& sought = watched_->position;
    const bool as_sought = sought.epoch == epoch && sought.batch == skip;
    loader_->seek(as_sought ? sought : DataPosition{epoch, skip}, watched_->drawn);
  }
  std::optional<models::Batch> next() override {
    ++watched_->calls;
    std::optional<LoadedBatch> batch = loader_->next();
    watched_->ended = !batch;
    if (!batch) return std::nullopt;
    watched_->samples = std::move(batch->samples);
    return std::move(batch->tensors);
  }
  std::optional<int64_t> length() const override { return length_; }

 private:
  std::unique_ptr<BatchLoader> loader_;
  std::shared_ptr<Watched> watched_;
  int64_t length_;
};

Error unfit_batches(const std::string& why) {
  return Error(ExitCode::kInternal, "batches of the program's data loader cannot be used")
      .where("DataLoader::next")
      .why(why)
      .hint("docs/library.md says what a data loader gives");
}

int64_t rows_of(const models::Batch& batch) {
  const at::Tensor& main = models::main_input(batch);
  if (!main.defined() || main.dim() < 2 || main.size(0) == 0)
    throw unfit_batches("one has no rows of input_ids or pixel_values");
  return main.size(0);
}

class OwnTrainingBatches final : public BatchSource {
 public:
  OwnTrainingBatches(std::unique_ptr<OwnLoader> loader, std::shared_ptr<Watched> watched,
                     int64_t length_group, double updates, comm::Communicator& communicator)
      : loader_(std::move(loader)),
        watched_(std::move(watched)),
        length_group_(length_group),
        batches_(updates),
        communicator_(communicator) {}

  void seek(DataPosition position, std::optional<data::DrawnOrder> drawn) override {
    if (position.before > 0 || (position.of_other_batches && position.inside()))
      throw Error(ExitCode::kUsage, "a data loader of one's own goes on with batches of the same size")
          .where("--resume_from_checkpoint")
          .why(
              "the checkpoint is in the middle of an epoch of batches of another size or of other ranks, or "
              "is the "
              "Trainer's, which does not say which batches it had")
          .hint(
              "the ranks and --per_device_train_batch_size of the run that saved it, or --ignore_data_skip");
    watched_->position = position;
    watched_->drawn = drawn;
    loader_->begin_epoch(position.epoch, position.batch);
    fetch();
    if (!ahead_ && !position.inside())
      throw unfit_batches("there is none in epoch " + std::to_string(position.epoch));
  }
  int64_t length_group() const override { return length_group_; }
  double share_done(const DataPosition& position) const override {
    const double all = loader_->length() ? static_cast<double>(*loader_->length()) : batches_;
    return std::min(1.0, static_cast<double>(position.batch) / std::max(1.0, all));
  }
  void mark(DataPosition&) const override {}  // any batch can be asked for
  bool at_end(const DataPosition&) override { return !ahead_; }
  std::optional<LoadedBatch> next() override {
    if (!ahead_) return std::nullopt;
    LoadedBatch batch{.tensors = std::move(*ahead_), .samples = {}};
    fetch();
    return batch;
  }

 private:
  // Collective.
  void fetch() {
    ahead_ = loader_->next();
    if (ahead_) rows_of(*ahead_);
    if (communicator_.maximum(ahead_ ? 0 : 1) == 1) ahead_.reset();
  }

  std::unique_ptr<OwnLoader> loader_;
  std::shared_ptr<Watched> watched_;
  int64_t length_group_;
  double batches_;  // of the whole run
  comm::Communicator& communicator_;
  std::optional<models::Batch> ahead_;
};

class OwnEvaluationBatches final : public BatchSource {
 public:
  OwnEvaluationBatches(std::unique_ptr<BatchLoader> of_run, const MakeOwnLoader& make)
      : watched_(std::make_shared<Watched>()), length_(of_run->batches().value()) {
    auto shown = std::make_shared<LoaderOfRun>(std::move(of_run), watched_, length_);
    of_run_ = shown;
    loader_ = make(std::make_unique<Shared>(std::move(shown)));
    seek({}, std::nullopt);
  }

  void seek(DataPosition position, std::optional<data::DrawnOrder>) override {
    watched_->position = position;
    of_run_->begin_epoch(position.epoch, position.batch);
    loader_->begin_epoch(position.epoch, position.batch);
  }
  int64_t length_group() const override { return 0; }
  double share_done(const DataPosition& position) const override {
    return static_cast<double>(position.batch) / static_cast<double>(std::max<int64_t>(1, length_));
  }
  void mark(DataPosition&) const override {}
  bool at_end(const DataPosition& position) override { return position.batch >= length_; }
  std::optional<LoadedBatch> next() override {
    const int64_t before = watched_->calls;
    std::optional<models::Batch> own = loader_->next();
    if (watched_->calls == before) of_run_->next();
    if (watched_->ended) return std::nullopt;
    const auto rows = static_cast<int64_t>(watched_->samples.size());
    if (watched_->calls != before + 1 || !own || rows_of(*own) != rows)
      throw unfit_batches("each stands for the one of the split in its place, of " + std::to_string(rows) +
                          " rows here");
    return LoadedBatch{.tensors = std::move(*own), .samples = watched_->samples};
  }

 private:
  // The run's loader for somebody who may throw it away.
  class Shared final : public OwnLoader {
   public:
    explicit Shared(std::shared_ptr<OwnLoader> loader) : loader_(std::move(loader)) {}
    void begin_epoch(int64_t epoch, int64_t skip) override { loader_->begin_epoch(epoch, skip); }
    std::optional<models::Batch> next() override { return loader_->next(); }
    std::optional<int64_t> length() const override { return loader_->length(); }

   private:
    std::shared_ptr<OwnLoader> loader_;
  };

  std::shared_ptr<Watched> watched_;
  int64_t length_;
  std::shared_ptr<OwnLoader> of_run_;
  std::unique_ptr<OwnLoader> loader_;
};

Error unplanned(const std::string& why, const std::string& hint) {
  return Error(ExitCode::kUsage, "the program's data loader cannot be used")
      .where("get_train_dataloader")
      .why(why)
      .hint(hint);
}

}  // namespace

std::unique_ptr<BatchSource> own_training_batches(std::unique_ptr<BatchLoader> of_run,
                                                  const MakeOwnLoader& make, const plan::RunPlan& plan,
                                                  comm::Communicator& communicator) {
  if (plan.data.stream)
    throw unplanned("the run streams its data, whose places a checkpoint could not keep",
                    "train without --streaming");
  const int64_t planned = plan.steps.batches_per_epoch, length_group = of_run->length_group();
  auto watched = std::make_shared<Watched>();
  std::unique_ptr<OwnLoader> loader =
      make(std::make_unique<LoaderOfRun>(std::move(of_run), watched, planned));
  if (!plan.steps.limited_by_steps && loader->length() != std::optional<int64_t>(planned))
    throw unplanned(
        "an epoch of it has " +
            (loader->length() ? std::to_string(*loader->length()) : std::string("nobody knows how many")) +
            " batches, and the plan counts on " + std::to_string(planned) + " of each rank",
        "--max_steps says when training ends");
  const auto batches = static_cast<double>(plan.steps.max_steps * plan.batch.accumulation_steps);
  return std::make_unique<OwnTrainingBatches>(std::move(loader), std::move(watched), length_group, batches,
                                              communicator);
}

std::unique_ptr<BatchSource> own_evaluation_batches(std::unique_ptr<BatchLoader> of_run,
                                                    const MakeOwnLoader& make) {
  return std::make_unique<OwnEvaluationBatches>(std::move(of_run), make);
}

}  // namespace hftrain::trainer

#include "hftrain/trainer/batch_loader.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "trainer/tiny_run.h"

namespace hftrain::trainer {
namespace {

using testing::kBlock;
using testing::memory_dataset;
using Samples = std::vector<std::vector<int64_t>>;

constexpr int64_t kSamples = 11;  // of which the last batch is short

data::SamplerOptions shuffled() {
  return {.samples = kSamples, .batch_size = 2, .seed = 5};
}

BatchLoader loader_of(const data::SamplerOptions& options, int64_t prefetch) {
  return {memory_dataset(kSamples), data::block_collator(), options, prefetch, /*pin_memory=*/false};
}

// What is left of the epoch that was sought.
Samples rest_of(BatchLoader& loader) {
  Samples rest;
  while (const std::optional<LoadedBatch> batch = loader.next()) rest.push_back(batch->samples);
  return rest;
}

// Says which draw a batch was made with: tensors of seed, epoch and the batch's first sample.
class KeyCollator final : public data::Collator {
 public:
  std::vector<data::TensorShape> shapes(const data::Dataset&, std::span<const int64_t>) const override {
    return {{"labels", data::TensorType::kFloat32, {1}}, {"input_ids", data::TensorType::kInt64, {3}}};
  }
  void fill(const data::Dataset&, std::span<const int64_t> samples, const data::DrawKey& key,
            std::span<void* const> memory) const override {
    *static_cast<float*>(memory[0]) = 0.5F;
    auto* numbers = static_cast<int64_t*>(memory[1]);
    numbers[0] = static_cast<int64_t>(key.seed), numbers[1] = key.epoch, numbers[2] = samples.front();
  }
};

// Takes its time, and notes who works and how many at once; of the sample `damaged` it can make nothing.
class SlowCollator final : public data::Collator {
 public:
  explicit SlowCollator(int64_t damaged = -1, std::chrono::milliseconds lasts = std::chrono::milliseconds(5))
      : damaged_(damaged), lasts_(lasts) {}
  std::vector<data::TensorShape> shapes(const data::Dataset&, std::span<const int64_t>) const override {
    return {{"input_ids", data::TensorType::kInt64, {2}}};
  }
  void fill(const data::Dataset&, std::span<const int64_t> samples, const data::DrawKey& key,
            std::span<void* const> memory) const override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      threads_.insert(std::this_thread::get_id());
      most_ = std::max(most_, ++now_);
    }
    std::this_thread::sleep_for(lasts_);
    auto* numbers = static_cast<int64_t*>(memory[0]);
    numbers[0] = samples.front(), numbers[1] = key.epoch;
    const std::lock_guard<std::mutex> lock(mutex_);
    --now_, ++made_;
    if (samples.front() == damaged_) throw Error(ExitCode::kData, "a sample is damaged");
  }
  std::set<std::thread::id> threads() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return threads_;
  }
  int made() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return made_;
  }
  int most() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return most_;
  }

 private:
  int64_t damaged_;
  std::chrono::milliseconds lasts_;
  mutable std::mutex mutex_;
  mutable std::set<std::thread::id> threads_;
  mutable int now_ = 0, most_ = 0, made_ = 0;
};

std::unique_ptr<BatchLoader> loader_with(std::shared_ptr<const data::Collator> collator, int64_t workers,
                                         int64_t prefetch) {
  auto rounds =
      ordered_rounds(memory_dataset(40),
                     {.samples = 40, .batch_size = 1, .sampling = data::Sampling::kSequential}, Reads::kOwn);
  return std::make_unique<BatchLoader>(std::move(rounds), std::move(collator),
                                       BatchLoader::Options{.workers = workers, .prefetch = prefetch});
}

// A stream with a damaged row behind its second round.
class DamagedRounds final : public RoundSource {
 public:
  void seek(const DataPosition&, std::optional<data::DrawnOrder>) override {}
  bool ready() override { return false; }
  RoundsLeft left() override {
    if (given_ < 2) return RoundsLeft::kSome;
    throw Error(ExitCode::kData, "a row is damaged");
  }
  BatchRound next() override { return {.dataset = memory_dataset(kSamples), .batches = {{given_++}}}; }
  std::optional<int64_t> batches() const override { return std::nullopt; }
  void mark(DataPosition&) override {}
  double share_done(const DataPosition&) const override { return 0; }

 private:
  int64_t given_ = 0;
};

// A stream that the run is to stop in behind its second round.
class StoppedRounds final : public RoundSource {
 public:
  void seek(const DataPosition&, std::optional<data::DrawnOrder>) override {}
  bool ready() override { return false; }
  RoundsLeft left() override { return given_ < 2 ? RoundsLeft::kSome : RoundsLeft::kUnknown; }
  BatchRound next() override { return {.dataset = memory_dataset(kSamples), .batches = {{given_++}}}; }
  std::optional<int64_t> batches() const override { return std::nullopt; }
  void mark(DataPosition&) override {}
  double share_done(const DataPosition&) const override { return 0; }

 private:
  int64_t given_ = 0;
};

}  // namespace

TEST_CASE("where the run is to stop before data come there is no batch, and the epoch is not over") {
  BatchLoader loader(std::make_unique<StoppedRounds>(), data::block_collator(), {});
  loader.seek({});
  CHECK(loader.next().has_value());
  CHECK(loader.next().has_value());
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(loader.next().has_value());
    CHECK_FALSE(loader.at_end({.batch = 2}));
  }
}

TEST_CASE(
    "damaged data are a failure of who needs them: the batches before them are given, and the epoch is not "
    "over") {
  BatchLoader loader(std::make_unique<DamagedRounds>(), data::block_collator(), {});
  loader.seek({});
  CHECK(loader.next().has_value());
  CHECK(loader.next().has_value());
  CHECK_FALSE(loader.at_end({.batch = 2}));
  CHECK_REFUSED(loader.next(), "a row is damaged");
}

TEST_CASE("a collator draws with the seed and the epoch of the data, wherever the epoch was entered") {
  BatchLoader loader(memory_dataset(kSamples), std::make_shared<KeyCollator>(), shuffled(), GENERATE(0, 3),
                     /*pin_memory=*/false);
  for (const int64_t epoch : {4, 0}) {
    const Samples whole = data::epoch_batches(shuffled(), epoch);
    for (const size_t batch : {size_t{0}, size_t{2}}) {
      loader.seek({.epoch = epoch, .batch = static_cast<int64_t>(batch)});
      const std::optional<LoadedBatch> loaded = loader.next();
      REQUIRE(loaded);
      CHECK(loaded->tensors.input_ids.equal(at::tensor({int64_t{5}, epoch, whole[batch].front()})));
      CHECK(loaded->tensors.labels.item<float>() == 0.5F);
      CHECK_FALSE(loaded->tensors.attention_mask.defined());
    }
  }
}

TEST_CASE("labels of language modelling are the ids themselves, on the device of the model too") {
  BatchLoader loader = loader_of(shuffled(), 0);
  loader.seek({});
  const models::Batch batch = loader.next()->tensors;
  CHECK(batch.labels.is_same(batch.input_ids));
  const models::Batch moved = on_device(batch, at::kMeta);
  CHECK(moved.labels.is_same(moved.input_ids));
  CHECK(moved.input_ids.device() == at::kMeta);
  CHECK_FALSE(moved.attention_mask.defined());
}

TEST_CASE("a loader gives the sampler's batches in order, each with the tokens of its samples") {
  BatchLoader loader = loader_of(shuffled(), GENERATE(0, 1, 4));
  loader.seek({.epoch = 1});
  const Samples wanted = data::epoch_batches(shuffled(), 1);
  CHECK(loader.batches() == static_cast<int64_t>(wanted.size()));
  for (const std::vector<int64_t>& samples : wanted) {
    const std::optional<LoadedBatch> batch = loader.next();
    REQUIRE(batch);
    CHECK(batch->samples == samples);
    REQUIRE(batch->tensors.input_ids.sizes() ==
            at::IntArrayRef({static_cast<int64_t>(samples.size()), kBlock}));
    const auto ids = batch->tensors.input_ids.accessor<int64_t, 2>();
    for (int64_t row = 0; row < ids.size(0); ++row) {
      for (int64_t place = 0; place < kBlock; ++place) {
        CHECK(ids[row][place] == testing::token_at(samples[static_cast<size_t>(row)], place));
      }
    }
  }
  CHECK_FALSE(loader.next());
  CHECK_FALSE(loader.next());
}

TEST_CASE("a loader sought in the middle of an epoch goes on as one that has read up to there") {
  const int64_t prefetch = GENERATE(0, 3);
  for (const int64_t epoch : {0, 2}) {
    const Samples whole = data::epoch_batches(shuffled(), epoch);
    for (int64_t batch = 0; batch <= static_cast<int64_t>(whole.size()); ++batch) {
      BatchLoader loader = loader_of(shuffled(), prefetch);
      loader.seek({.epoch = epoch, .batch = batch});
      CHECK(rest_of(loader) == Samples(whole.begin() + batch, whole.end()));
    }
  }
}

TEST_CASE("a loader that is sought again forgets what it had fetched ahead") {
  BatchLoader loader = loader_of(shuffled(), 4);
  loader.seek({.epoch = 0});
  loader.next();
  loader.seek({.epoch = 3, .batch = 1});
  const Samples whole = data::epoch_batches(shuffled(), 3);
  CHECK(rest_of(loader) == Samples(whole.begin() + 1, whole.end()));
  loader.seek({.epoch = 0});
  CHECK(rest_of(loader) == data::epoch_batches(shuffled(), 0));
}

TEST_CASE("samples used before another number of ranks took over are not given again") {
  BatchLoader loader = loader_of(shuffled(), GENERATE(0, 2));
  loader.seek({.epoch = 0, .batch = 0, .before = 3});
  const Samples whole = data::epoch_batches({.samples = kSamples, .batch_size = 1, .seed = 5}, 0);
  std::vector<int64_t> wanted, found;
  for (size_t i = 3; i < whole.size(); ++i) wanted.push_back(whole[i].front());
  for (const auto& samples : rest_of(loader)) found.insert(found.end(), samples.begin(), samples.end());
  CHECK(found == wanted);
  loader.seek({.epoch = 0, .batch = 0, .before = kSamples + 1});
  CHECK_FALSE(loader.next());
}

TEST_CASE("the share of an epoch that is done counts samples, those of earlier ranks too") {
  BatchLoader loader = loader_of(shuffled(), 0);
  loader.seek({});
  CHECK(loader.share_done({.batch = 0}) == 0.0);
  CHECK(loader.share_done({.batch = 3}) == Approx(3.0 / 6));
  CHECK(loader.share_done({.batch = 6}) == 1.0);
  loader.seek({.batch = 0, .before = 3});
  CHECK(loader.share_done({.batch = 2, .before = 3}) == Approx((3.0 + 4) / (3 + 8)));
}

TEST_CASE("as many threads as there are workers make all batches that are ahead, in their order") {
  const auto collator = std::make_shared<SlowCollator>();
  const auto loader = loader_with(collator, /*workers=*/2, /*prefetch=*/6);
  for (const int64_t epoch : {0, 1}) {
    loader->seek({.epoch = epoch});
    for (int64_t sample = 0; sample < 40; ++sample) {
      const std::optional<LoadedBatch> batch = loader->next();
      REQUIRE(batch);
      CHECK(batch->tensors.input_ids.equal(at::tensor({sample, epoch})));
    }
    CHECK_FALSE(loader->next());
  }
  CHECK(collator->threads().size() == 2);
  CHECK(collator->threads().count(std::this_thread::get_id()) == 0);
  CHECK(collator->most() == 2);
}

TEST_CASE("a batch that cannot be made ahead fails when it comes, and the loader can be sought again") {
  const auto loader = loader_with(std::make_shared<SlowCollator>(/*damaged=*/3), 2, 4);
  loader->seek({});
  for (int64_t sample = 0; sample < 3; ++sample) CHECK(loader->next()->samples.front() == sample);
  CHECK_REFUSED(loader->next(), "a sample is damaged");
  CHECK(loader->next()->samples.front() == 4);
  loader->seek({.batch = 2});
  CHECK(loader->next()->samples.front() == 2);
  CHECK_REFUSED(loader->next(), "a sample is damaged");
}

TEST_CASE("a loader that is sought or goes while batches are made drops those that have not begun") {
  // So long that a busy machine would have to hold this thread up for a second before they were all made.
  const auto collator = std::make_shared<SlowCollator>(/*damaged=*/-1, std::chrono::milliseconds(30));
  auto loader = loader_with(collator, 2, 30);
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    loader->seek({.epoch = epoch, .batch = epoch});
    CHECK(loader->next()->tensors.input_ids.equal(at::tensor({epoch, epoch})));
  }
  loader.reset();
  CHECK(collator->made() < 100);  // of 150 that were asked for
  CHECK(collator->most() <= 2);
}

TEST_CASE("blocks of different lengths in one batch are a data error, also when fetched ahead") {
  BatchLoader loader(memory_dataset(4, /*shorter_one=*/1), data::block_collator(),
                     {.samples = 4, .batch_size = 2, .sampling = data::Sampling::kSequential}, GENERATE(0, 2),
                     false);
  loader.seek({});
  try {
    loader.next();
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
  }
}

}  // namespace hftrain::trainer

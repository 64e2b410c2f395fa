#include "hftrain/plan/step_arithmetic.h"

#include "hftrain/data/samplers.h"
#include "support/catch.h"

namespace hftrain::plan {
namespace {

TEST_CASE("the batches of an epoch are those that the samplers deal out to rank 0") {
  for (const int64_t samples : {1, 2, 7, 8, 9, 16, 31, 32, 33, 100}) {
    for (const int64_t batch : {1, 2, 3, 8}) {
      for (const int world : {1, 2, 3, 4}) {
        for (int bits = 0; bits < 8; ++bits) {
          const EpochShape shape{samples, batch, world, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
          if (shape.split_batches && batch % world != 0) continue;
          data::SamplerOptions options;
          options.samples = samples;
          options.batch_size = batch;
          options.world_size = world;
          options.drop_last = shape.drop_last;
          options.even_batches = shape.even_batches;
          options.split_batches = shape.split_batches;
          INFO(samples << " samples, batch " << batch << ", world " << world << ", options " << bits);
          CHECK(batches_per_epoch(shape) == data::batches_per_epoch(options));
        }
      }
    }
  }
}

TEST_CASE("the batches of an epoch of rebalanced updates are those of their sampler") {
  for (const int64_t samples : {1, 23, 24, 25, 100}) {
    for (const bool drop_last : {false, true}) {
      EpochShape shape{samples, 4, 2, drop_last};
      shape.even_batches = false;
      shape.rebalanced = 3;
      data::SamplerOptions options{.samples = samples, .batch_size = 4, .world_size = 2};
      options.sampling = data::Sampling::kBatchRebalance;
      options.accumulation_steps = 3;
      options.drop_last = drop_last;
      INFO(samples << " samples" << (drop_last ? ", the last dropped" : ""));
      CHECK(batches_per_epoch(shape) == data::batches_per_epoch(options));
      CHECK(ranks_agree(shape));
    }
  }
}

TEST_CASE("ranks disagree only without even batches, dropping or splitting") {
  CHECK(ranks_agree({100, 8, 2, false, true, false}));
  CHECK_FALSE(ranks_agree({100, 8, 2, false, false, false}));  // 13 batches for 2 ranks
  CHECK(ranks_agree({100, 8, 2, true, false, false}));
  CHECK(ranks_agree({104, 8, 13, false, false, false}));
  CHECK(ranks_agree({100, 8, 1, false, false, false}));
}

TEST_CASE("slices of a split batch agree when the short last one gives every rank some") {
  CHECK(ranks_agree({8, 4, 2, false, false, true}));
  CHECK_FALSE(ranks_agree({5, 4, 2, false, false, true}));  // one sample is left, for rank 0
  CHECK_FALSE(ranks_agree({6, 4, 2, false, false, true}));
  CHECK(ranks_agree({7, 4, 2, false, false, true}));
  CHECK(ranks_agree({5, 4, 2, false, true, true}));
  CHECK(ranks_agree({5, 4, 2, true, false, true}));
  // Against the batches themselves.
  for (int64_t samples = 1; samples < 30; ++samples) {
    for (const int world : {1, 2, 3}) {
      data::SamplerOptions options{.samples = samples, .batch_size = 6, .world_size = world};
      options.even_batches = false;
      options.split_batches = true;
      const size_t first = data::epoch_batches(options, 0).size();
      options.rank = world - 1;
      INFO(samples << " samples, world " << world);
      CHECK(ranks_agree({samples, 6, world, false, false, true}) ==
            (data::epoch_batches(options, 0).size() == first));
    }
  }
}

StepRequest request(int64_t batches, int64_t accumulation, int64_t max_steps, double epochs) {
  return {batches, accumulation, max_steps, epochs, 100, 8};
}

TEST_CASE("updates per epoch round up, and an epoch has at least one") {
  CHECK(plan_steps(request(10, 3, -1, 1)).updates_per_epoch == 4);
  CHECK(plan_steps(request(9, 3, -1, 1)).updates_per_epoch == 3);
  CHECK(plan_steps(request(1, 8, -1, 1)).updates_per_epoch == 1);
}

TEST_CASE("epochs become updates, rounded up, and fractions are allowed") {
  const StepsPlan steps = plan_steps(request(10, 3, -1, 2.6));
  CHECK(steps.max_steps == 11);  // ceil(2.6 * 4)
  CHECK(steps.epochs == 3);
  CHECK(steps.samples_for_speed == 260);
  CHECK(plan_steps(request(10, 1, -1, 0)).max_steps == 0);
  CHECK_FALSE(steps.limited_by_steps);
  CHECK(plan_steps(request(10, 1, 5, 1)).limited_by_steps);
}

TEST_CASE("max_steps wins over epochs") {
  const StepsPlan steps = plan_steps(request(10, 3, 9, 1));
  CHECK(steps.max_steps == 9);
  CHECK(steps.epochs == 3);  // ceil(9 / 4)
  CHECK(steps.samples_for_speed == 72);
}

TEST_CASE("unknown data leave unknown steps, except what max_steps fixes") {
  CHECK(plan_steps(request(0, 2, -1, 3)).max_steps == 0);
  const StepsPlan steps = plan_steps(request(0, 2, 50, 3));
  CHECK(steps.max_steps == 50);
  CHECK(steps.updates_per_epoch == 0);
  CHECK(steps.epochs == 0);
}

TEST_CASE("intervals below 1 are shares of all updates, rounded up") {
  CHECK(absolute_steps(0.01, 250) == 3);
  CHECK(absolute_steps(0.1, 5) == 1);
  CHECK(absolute_steps(500, 100) == 500);
  CHECK(absolute_steps(1, 100) == 1);
  CHECK(absolute_steps(0, 100) == 0);
  CHECK(absolute_steps(0.5, 0) == 0);
}

TEST_CASE("warm-up counts updates from 1 on and is a share below") {
  CHECK(warmup_steps(0, 100) == 0);
  CHECK(warmup_steps(0.05, 100) == 5);
  CHECK(warmup_steps(0.05, 101) == 6);
  CHECK(warmup_steps(2.5, 100) == 2);
  CHECK(warmup_steps(1e30, 100) == int64_t{1'000'000'000'000'000'000});
  CHECK(warmup_steps(200, 100) == 200);
}

}  // namespace
}  // namespace hftrain::plan

#include "hftrain/trainer/others_position.h"

#include <cstdint>
#include <limits>
#include <string>

#include "hftrain/base/error.h"
#include "support/catch.h"

namespace hftrain::trainer {
namespace {

using reporting::TrainerState;

TrainerState state_of(int64_t step, int64_t most, double epoch) {
  TrainerState state;
  state.global_step = step;
  state.max_steps = most;
  state.epoch = epoch;
  return state;
}

std::string why_no_place(const TrainerState& state, bool stream, int64_t accumulation = 1) {
  plan::RunPlan plan;
  if (stream) plan.data.stream.emplace();
  plan.batch.accumulation_steps = accumulation;
  try {
    position_in_data(plan, state, 2, {.round = 8, .update = 8}, "here");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    const Diagnostic& said = error.diagnostics().front();
    CHECK(said.where == "here");
    CHECK(!said.hint.empty());
    return said.why;
  }
  return "";
}

TEST_CASE("numbers that no run has are refused, and others are a place", "[others_position]") {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN(),
                   kEndless = std::numeric_limits<double>::infinity();
  for (const bool stream : {false, true}) {
    CAPTURE(stream);
    CHECK(why_no_place(state_of(5, 10, 0.5), stream).empty());
    CHECK(why_no_place(state_of(0, 0, 0), stream).empty());
    CHECK(why_no_place(state_of(-1, 10, 0.5), stream) == "its global_step is -1");
    CHECK(why_no_place(state_of(kMost, 10, 0.5), stream) == "its global_step is 9223372036854775807");
    CHECK(why_no_place(state_of(5, kMost, 0.5), stream) == "its max_steps is 9223372036854775807");
    for (const double epoch : {-0.5, 1e300, kNone, kEndless})
      CHECK(why_no_place(state_of(5, 10, epoch), stream).find("its epoch is ") == 0);
    TrainerState state = state_of(5, 10, 0.5);
    state.train_batch_size = kMost;
    CHECK(why_no_place(state, stream) == "its train_batch_size is 9223372036854775807");
  }
}

TEST_CASE("a place in a stream that cannot be counted is refused", "[others_position]") {
  constexpr int64_t kMany = int64_t{1} << 40;
  CHECK(why_no_place(state_of(kMany, kMany, 1), true, kMany).find("more batches than can be counted") !=
        std::string::npos);
  CHECK(why_no_place(state_of(5, kMany, 0.5), true, kMany).find("more batches than can be counted") !=
        std::string::npos);
}

// A run of the Trainer over 26 samples was `share` through its second epoch, on 1 rank with batches of `batch`.
DataPosition place_of(double share, int64_t batch, plan::RunPlan& plan, const DataPace& pace) {
  plan.data.train.emplace().samples = 26;
  plan.ranks.world_size = 1;
  TrainerState state = state_of(5, 14, 1 + share);
  state.train_batch_size = batch;
  const DataPosition place = position_in_data(plan, state, 1, pace, "here");
  CHECK(place.epoch == 1);
  return place;
}

TEST_CASE("a run that kept or dropped its last batch goes on behind the batches that it had done",
          "[others_position]") {
  const bool drops = GENERATE(false, true);
  const int64_t done = GENERATE(range(int64_t{0}, int64_t{6}));
  CAPTURE(drops, done);
  plan::RunPlan plan;
  plan.batch.per_device_train = 4;
  plan.data.drop_last = drops;
  for (const double batches : {6.0, 7.0}) {
    CHECK(place_of(static_cast<double>(done) / batches, 4, plan, {.round = 4, .update = 4}).batch == done);
    const DataPosition moved =
        place_of(static_cast<double>(done) / batches, 4, plan, {.round = 2, .update = 2});
    CHECK(moved.batch == 2 * done);
  }
}

TEST_CASE("batches of another size go on at the next sample in every order", "[others_position]") {
  plan::RunPlan plan;
  plan.batch.per_device_train = 2;
  SECTION("split over ranks") {
    plan.data.split_batches = true;
    CHECK(place_of(6.0 / 7, 4, plan, {.round = 2, .update = 2}).batch == 12);
  }
  SECTION("rebalanced") {
    CHECK(place_of(6.0 / 7, 4, plan, {.round = 2, .update = 2, .by_updates = true}).batch == 12);
    const DataPosition between = place_of(5.0 / 13, 2, plan, {.round = 4, .update = 4, .by_updates = true});
    CHECK(between.before == 10);
    CHECK(between.batch == 0);
  }
}

}  // namespace
}  // namespace hftrain::trainer

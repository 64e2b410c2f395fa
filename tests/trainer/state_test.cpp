#include "hftrain/trainer/state.h"

#include <limits>

#include "support/catch.h"

using hftrain::trainer::DataPosition;
using hftrain::trainer::moved_to;

TEST_CASE("a position in the data moves to another number of ranks without repeating or skipping a sample") {
  const DataPosition saved{2, 6, 0};  // 6 rounds of 4 ranks with 2 samples each
  CHECK(moved_to(saved, {.round = 8}, {.round = 8}).batch == 6);
  const DataPosition halved = moved_to(saved, {.round = 8}, {.round = 4});
  CHECK(halved.epoch == 2);
  CHECK(halved.batch == 12);
  CHECK(halved.before == 0);
  // 48 samples are not a number of whole rounds of 10: the rest of the epoch is counted from there.
  const DataPosition uneven = moved_to(saved, {.round = 8}, {.round = 10});
  CHECK(uneven.batch == 0);
  CHECK(uneven.before == 48);
  // And from such a place back.
  const DataPosition back = moved_to({2, 2, 48}, {.round = 10}, {.round = 4});
  CHECK(back.batch == 17);
  CHECK(back.before == 0);
}

TEST_CASE("where batches of an update have different sizes only whole updates are counted") {
  using hftrain::trainer::DataPace;
  const DataPosition saved{1, 4, 0, 6};  // two updates of two micro-batches, 16 samples each
  const DataPace then{.round = 8, .update = 16};
  const auto same = moved_to(saved, then, {.round = 8, .update = 16, .by_updates = true});
  CHECK(same.batch == 4);
  CHECK(same.length_group == 6);  // the epoch keeps its order
  const auto longer = moved_to(saved, then, {.round = 8, .update = 24, .by_updates = true});
  CHECK(longer.batch == 0);
  CHECK(longer.before == 32);
  CHECK(longer.length_group == 6);
  const auto fewer_ranks = moved_to(saved, then, {.round = 4, .update = 16, .by_updates = true});
  CHECK(fewer_ranks.batch == 8);
  CHECK(fewer_ranks.before == 0);
  CHECK(moved_to(saved, then, {.round = 8, .update = 24}).batch == 4);
}

TEST_CASE("the state of a run survives a round trip through JSON; missing members keep their defaults") {
  hftrain::trainer::State state;
  state.global_step = 7;
  state.position = {1, 3, 5};
  state.evaluation_pending = true;
  state.grad_norm = std::numeric_limits<double>::infinity();
  state.epoch_closed = true;
  const hftrain::trainer::State read =
      hftrain::trainer::state_from_json(hftrain::trainer::to_json_value(state));
  CHECK(read.global_step == 7);
  CHECK(read.position.before == 5);
  CHECK(read.evaluation_pending);
  CHECK(read.grad_norm == state.grad_norm);
  CHECK(read.epoch_closed);
  CHECK_FALSE(hftrain::trainer::state_from_json({{"global_step", 1}}).evaluation_pending);
}

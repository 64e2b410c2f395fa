#include "hftrain/data/samplers.h"

#include <algorithm>
#include <limits>

#include "golden.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "support/catch.h"
#include "support/paths.h"

namespace {

using hftrain::Json;
using hftrain::data::SamplerOptions;
using hftrain::testing::digest;

const Json& golden_samplers() {
  static const Json kGolden =
      hftrain::read_json_file(hftrain::testing::source_dir() + "/tests/golden/data/samplers.json");
  return kGolden;
}

std::vector<int64_t> flatten(const std::vector<std::vector<int64_t>>& batches) {
  std::vector<int64_t> flat;
  for (const auto& batch : batches) {
    flat.push_back(static_cast<int64_t>(batch.size()));
    flat.insert(flat.end(), batch.begin(), batch.end());
  }
  return flat;
}

SamplerOptions options_of(const Json& row) {
  SamplerOptions options;
  options.samples = row[0];
  options.batch_size = row[1];
  options.world_size = row[2];
  options.rank = row[3];
  options.drop_last = row[4] == 1;
  options.even_batches = row[5] == 1;
  options.split_batches = row[6] == 1;
  options.sampling = hftrain::data::Sampling::kSequential;
  return options;
}

}  // namespace

TEST_CASE("A seeded permutation equals torch.randperm") {
  for (const Json& row : golden_samplers().at("permutations")) {
    const uint64_t seed = std::stoull(row.at("seed").get<std::string>());
    const auto order = hftrain::data::random_permutation(row.at("n"), seed);
    CAPTURE(row.dump());
    CHECK(digest(order) == row.at("digest"));
  }
}

TEST_CASE("From 2^32/20 entries on a permutation takes pairs of draws, as torch does", "[slow]") {
  const Json& row = golden_samplers().at("large_permutation");
  const auto order = hftrain::data::random_permutation(row.at("n"), 42);
  for (size_t i = 0; i < row.at("places").size(); ++i) {
    CHECK(order[row.at("places")[i].get<size_t>()] == row.at("values")[i].get<int64_t>());
  }
}

TEST_CASE("Every rank gets the batches that accelerate's BatchSamplerShard gives it") {
  size_t checked = 0;
  for (const Json& row : golden_samplers().at("shards")) {
    const SamplerOptions options = options_of(row);
    const auto batches = hftrain::data::epoch_batches(options, 0);
    CAPTURE(row.dump());
    CHECK(hftrain::data::batches_per_epoch(options) == row[7]);
    const Json& expected = row[8];
    if (expected.is_string()) {
      CHECK(digest(flatten(batches)) == expected);
    } else {
      CHECK(batches == expected.get<std::vector<std::vector<int64_t>>>());
    }
    ++checked;
  }
  CHECK(checked > 2000);
}

TEST_CASE("The shuffled batches of an epoch come from the seed plus the epoch") {
  for (const Json& row : golden_samplers().at("shuffled")) {
    SamplerOptions options;
    options.samples = row.at("n");
    options.batch_size = row.at("batch");
    options.seed = std::stoull(row.at("seed").get<std::string>());
    CHECK(hftrain::data::epoch_batches(options, row.at("epoch")) ==
          row.at("batches").get<std::vector<std::vector<int64_t>>>());
  }
}

TEST_CASE("Without even_batches the ranks of a shuffled epoch share out every sample exactly once") {
  SamplerOptions options;
  options.samples = 101;
  options.batch_size = 4;
  options.world_size = 3;
  options.even_batches = false;
  std::vector<int64_t> seen;
  for (options.rank = 0; options.rank < 3; ++options.rank) {
    for (const auto& batch : hftrain::data::epoch_batches(options, 2))
      seen.insert(seen.end(), batch.begin(), batch.end());
  }
  std::sort(seen.begin(), seen.end());
  std::vector<int64_t> all(101);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  // The last round is incomplete, so accelerate hands out what each rank holds: nothing is lost.
  CHECK(seen == all);
}

TEST_CASE("An epoch that goes on with another number of ranks shares out exactly what is left") {
  const SamplerOptions four{
      .samples = 100, .batch_size = 4, .world_size = 4, .seed = 7, .even_batches = false};
  std::vector<int64_t> seen;
  for (int rank = 0; rank < 4; ++rank) {
    SamplerOptions options = four;
    options.rank = rank;
    const auto batches = hftrain::data::epoch_batches(options, 3);
    for (size_t round = 0; round < 2; ++round)
      seen.insert(seen.end(), batches[round].begin(), batches[round].end());
  }
  for (int rank = 0; rank < 3; ++rank) {
    SamplerOptions options = four;
    options.world_size = 3;
    options.rank = rank;
    options.skip = 2 * four.round();
    for (const auto& batch : hftrain::data::epoch_batches(options, 3))
      seen.insert(seen.end(), batch.begin(), batch.end());
  }
  std::sort(seen.begin(), seen.end());
  REQUIRE(seen.size() == 100);
  for (int64_t i = 0; i < 100; ++i) CHECK(seen[static_cast<size_t>(i)] == i);
}

TEST_CASE("A batch that cannot be split over the ranks is a usage error") {
  SamplerOptions options;
  options.samples = 10;
  options.batch_size = 3;
  options.world_size = 2;
  options.split_batches = true;
  try {
    hftrain::data::batches_per_epoch(options);
    FAIL("no error");
  } catch (const hftrain::Error& error) {
    CHECK(error.code() == hftrain::ExitCode::kUsage);
  }
}

TEST_CASE("Every rank gets the batches that accelerate's DataLoaderDispatcher sends it") {
  const Json golden =
      hftrain::read_json_file(hftrain::testing::source_dir() + "/tests/golden/data/dispatched.json");
  for (const Json& row : golden) {
    SamplerOptions options;
    options.samples = row[0];
    options.batch_size = row[1];
    options.world_size = row[2];
    options.rank = row[3];
    options.drop_last = row[4] == 1;
    options.split_batches = row[5] == 1;
    options.even_batches = false;
    options.dispatched = true;
    options.sampling = hftrain::data::Sampling::kSequential;
    CAPTURE(row.dump());
    CHECK(hftrain::data::batches_per_epoch(options) == row[6]);
    CHECK(hftrain::data::epoch_batches(options, 0) == row[7].get<std::vector<std::vector<int64_t>>>());
  }
  CHECK(golden.size() > 300);
}

TEST_CASE(
    "A drawn order is the permutation of its generator that is asked for, whatever seed and epoch are") {
  SamplerOptions options;
  options.samples = 11;
  options.batch_size = 11;
  options.drawn = hftrain::data::DrawnOrder{.seed = 5, .before = 2};
  const auto third = hftrain::data::epoch_batches(options, 7).front();
  CHECK(third == hftrain::data::random_permutation(11, 5, 2));
  CHECK(third != hftrain::data::random_permutation(11, 5));
  options.seed = 1;
  CHECK(hftrain::data::epoch_batches(options, 0).front() == third);
  // The second of torch.Generator().manual_seed(5): torch.randperm(11, generator=...) twice.
  options.drawn->before = 1;
  CHECK(hftrain::data::epoch_batches(options, 0).front() ==
        std::vector<int64_t>{7, 1, 10, 3, 0, 5, 9, 4, 2, 8, 6});
}

namespace {

// Rounds of a stream that turns out to have `samples` of them: the batches of that rank.
std::vector<std::vector<int64_t>> streamed_batches(const SamplerOptions& options, int64_t samples) {
  SamplerOptions endless = options;
  endless.samples = std::numeric_limits<int64_t>::max();
  std::vector<std::vector<int64_t>> batches;
  for (int64_t begin = options.skip; begin < samples; begin += options.round()) {
    const auto round =
        hftrain::data::stream_round(endless, begin, std::min(options.round(), samples - begin));
    if (!round.empty()) batches.push_back(round.at(static_cast<size_t>(options.rank)));
  }
  return batches;
}

}  // namespace

TEST_CASE("The rounds of a stream are those that accelerate's IterableDatasetShard gives every rank") {
  const Json golden =
      hftrain::read_json_file(hftrain::testing::source_dir() + "/tests/golden/data/streamed.json");
  for (const Json& row : golden) {
    SamplerOptions options;
    options.batch_size = row[1];
    options.world_size = row[2];
    options.rank = row[3];
    options.drop_last = row[4] == 1;
    options.split_batches = row[5] == 1;
    CAPTURE(row.dump());
    CHECK(streamed_batches(options, row[0]) == row[6].get<std::vector<std::vector<int64_t>>>());
  }
  CHECK(golden.size() > 500);
}

TEST_CASE(
    "The rounds of a stream are the batches of as many samples in sequential order, read by all or sent") {
  SamplerOptions options;
  options.sampling = hftrain::data::Sampling::kSequential;
  options.world_size = GENERATE(1, 2, 3);
  options.rank = options.world_size - 1;
  options.batch_size = options.world_size * GENERATE(1, 2);
  options.drop_last = GENERATE(false, true);
  options.split_batches = GENERATE(false, true);
  options.dispatched = GENERATE(false, true);
  options.skip = GENERATE(0, 5);
  for (int64_t samples = options.skip + 1; samples < 40; ++samples) {
    options.samples = samples;
    CAPTURE(samples, options.world_size, options.batch_size, options.dispatched, options.split_batches);
    CHECK(streamed_batches(options, samples) == hftrain::data::epoch_batches(options, 0));
  }
}

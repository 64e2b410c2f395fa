// Orders that look at the lengths of samples, against transformers and accelerate (scripts/golden/length_samplers.py).
#include <algorithm>
#include <memory>
#include <numeric>

#include "golden.h"
#include "hftrain/base/error.h"
#include "hftrain/data/batch_rebalance.h"
#include "hftrain/data/samplers.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::data {
namespace {

using Batches = std::vector<std::vector<int64_t>>;
using testing::digest;

const Json& golden_lengths() {
  static const Json document =
      read_json_file(testing::source_dir() + "/tests/golden/data/length_samplers.json");
  return document;
}

// As lengths_of of the script.
std::vector<int32_t> lengths_of(const std::string& kind, int64_t n) {
  if (kind == "scattered")
    return {1, 4, 1, 2, 20, 1, 1,  10, 1,  1, 12, 1, 1,  1, 1, 1,
            1, 1, 1, 1, 7,  3, 17, 3,  34, 2, 6,  2, 36, 2, 1, 18};
  int64_t state = n + 1;
  std::vector<int32_t> lengths;
  for (int64_t i = 0; i < n; ++i) {
    state = (state * 1103515245 + 12345) % (int64_t{1} << 31);
    const int64_t draw = state >> 12, tail = draw % 700;
    lengths.push_back(static_cast<int32_t>(kind == "uniform" ? 1 + draw % 512
                                           : kind == "equal" ? 7
                                           : kind == "few"   ? 1 + draw % 3
                                                             : 1 + tail * tail * tail / 400000));
  }
  return lengths;
}

SampleLengths shared(const std::string& kind, int64_t n) {
  return std::make_shared<const std::vector<int32_t>>(lengths_of(kind, n));
}

void check_order(const std::vector<int64_t>& order, const Json& expected) {
  if (expected.is_string()) {
    CHECK(digest(order) == expected);
  } else {
    CHECK(order == expected.get<std::vector<int64_t>>());
  }
}

uint64_t seed_of(const Json& text) {
  return std::stoull(text.get<std::string>());
}

void append_flat(std::vector<int64_t>& flat, const Batches& batches) {
  for (const auto& batch : batches) {
    flat.push_back(static_cast<int64_t>(batch.size()));
    flat.insert(flat.end(), batch.begin(), batch.end());
  }
}

SamplerOptions dealt_options(const Json& row) {
  SamplerOptions options;
  options.samples = row[0];
  options.batch_size = row[1];
  options.world_size = row[3];
  options.drop_last = row[4] == 1;
  options.even_batches = row[5] == 1;
  options.split_batches = row[6] == 1;
  options.sampling = Sampling::kGroupByLength;
  options.lengths = shared("uniform", options.samples);
  options.length_group = row[1].get<int64_t>() * row[2].get<int64_t>();
  return options;
}

TEST_CASE("samples grouped by length have the order of the Trainer's sampler for the same generator") {
  for (const Json& row : golden_lengths().at("grouped")) {
    INFO(row.dump());
    check_order(length_grouped_order(lengths_of(row[0], row[1]), row[2], seed_of(row[3])), row[4]);
  }
}

TEST_CASE("the sortish sampler sorts pieces of fifty batches and shuffles the batches") {
  for (const Json& row : golden_lengths().at("sortish")) {
    INFO(row.dump());
    const std::vector<int32_t> lengths = lengths_of(row[0], row[1]);
    check_order(sortish_order(lengths, row[2], seed_of(row[3])), row[4]);
    check_order(longest_first_order(lengths), row[5]);
  }
}

TEST_CASE("batches of one length are dealt out to ranks as accelerate deals out any") {
  for (const Json& row : golden_lengths().at("dealt")) {
    INFO(row.dump());
    SamplerOptions options = dealt_options(row);
    for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
      CHECK(epoch_batches(options, row[7]) == row[8][static_cast<size_t>(options.rank)].get<Batches>());
    }
  }
}

TEST_CASE("a grouped order that is drawn is the one that accelerate's generator gives in each epoch") {
  for (const Json& row : golden_lengths().at("drawn")) {
    INFO(row.dump());
    SamplerOptions options{.samples = row[0], .batch_size = row[1], .world_size = 2};
    options.sampling = Sampling::kGroupByLength;
    options.lengths = shared("uniform", options.samples);
    options.length_group = row[1].get<int64_t>() * row[2].get<int64_t>();
    for (const int64_t epoch : {0, 1, 2}) {
      options.drawn = DrawnOrder{.seed = seed_of(row[3]), .before = epoch};
      for (options.rank = 0; options.rank < 2; ++options.rank) {
        const Json& of_rank = row[4][static_cast<size_t>(options.rank)];
        CHECK(epoch_batches(options, epoch) == of_rank[static_cast<size_t>(epoch)].get<Batches>());
      }
    }
  }
}

TEST_CASE("the Trainer's own loaders give the same batches, in training and in evaluation") {
  for (const Json& row : golden_lengths().at("loaders")) {
    INFO(row.dump());
    const std::string strategy = row["strategy"];
    SamplerOptions training{.samples = 61, .batch_size = 4, .seed = 7};
    training.sampling = sampling_named(strategy);
    training.lengths = shared("uniform", 61);
    training.accumulation_steps = row["accumulation"];
    training.length_group = 4 * training.accumulation_steps;
    training.drop_last = row["drop_last"];
    CHECK(epoch_batches(training, 0) == row["train"].get<Batches>());
    SamplerOptions evaluation = training;
    evaluation.batch_size = evaluation.length_group = 6;
    if (strategy != "group_by_length") evaluation.sampling = Sampling::kSequential;
    CHECK(epoch_batches(evaluation, 0) == row["eval"].get<Batches>());
  }
}

TEST_CASE("every rank gets the micro-batches that BatchRebalanceSampler gives it") {
  for (const Json& row : golden_lengths().at("rebalanced")) {
    INFO(row.dump());
    SamplerOptions options{.samples = row[1], .batch_size = row[2], .world_size = row[4], .seed = 9};
    options.sampling = Sampling::kBatchRebalance;
    options.lengths = shared(row[0], row[1]);
    options.accumulation_steps = row[3];
    options.drop_last = row[5] == 1;
    std::vector<int64_t> flat;
    for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
      const Batches batches = epoch_batches(options, row[6]);
      CHECK(static_cast<int64_t>(batches.size()) == batches_per_epoch(options));
      if (row[7].is_array()) CHECK(batches == row[7][static_cast<size_t>(options.rank)].get<Batches>());
      append_flat(flat, batches);
    }
    if (row[7].is_string()) CHECK(digest(flat) == row[7]);
  }
}

TEST_CASE("all samples of an update are in its groups once, whatever their lengths") {
  const RebalanceShape shape{.update_size = 24, .ranks = 4, .micro_batches = 2};
  const std::vector<int32_t> lengths = lengths_of("tail", 24);
  std::vector<int64_t> all(24), seen;
  std::iota(all.begin(), all.end(), int64_t{0});
  const Batches groups = rebalanced_groups(all, lengths, shape);
  CHECK(groups.size() == 8);
  for (const auto& group : groups) {
    CHECK_FALSE(group.empty());
    seen.insert(seen.end(), group.begin(), group.end());
  }
  std::sort(seen.begin(), seen.end());
  CHECK(seen == all);
}

TEST_CASE("samples of one length come in the random order, grouped or not") {
  SamplerOptions options{.samples = 30, .batch_size = 4, .seed = 3};
  const Batches random = epoch_batches(options, 1);
  options.sampling = Sampling::kGroupByLength;
  options.lengths = shared("equal", 30);
  options.length_group = 8;
  CHECK(epoch_batches(options, 1) == random);
}

TEST_CASE("an epoch of rebalanced updates that goes on with other ranks shares out exactly what is left") {
  SamplerOptions four{.samples = 100, .batch_size = 3, .world_size = 4};
  four.sampling = Sampling::kBatchRebalance;
  four.lengths = shared("tail", 100);
  four.accumulation_steps = 2;
  std::vector<int64_t> seen;
  const auto take = [&](const SamplerOptions& options, size_t batches) {
    const Batches all = epoch_batches(options, 3);
    for (size_t i = 0; i < std::min(batches, all.size()); ++i)
      seen.insert(seen.end(), all[i].begin(), all[i].end());
  };
  for (four.rank = 0; four.rank < 4; ++four.rank) take(four, 4);  // two updates of 24
  SamplerOptions three = four;
  three.world_size = 3;
  three.skip = 48;
  for (three.rank = 0; three.rank < 3; ++three.rank) take(three, 100);
  std::sort(seen.begin(), seen.end());
  std::vector<int64_t> all(100);
  std::iota(all.begin(), all.end(), int64_t{0});
  CHECK(seen == all);
}

TEST_CASE("orders that look at lengths refuse to go without") {
  SamplerOptions options{.samples = 4, .batch_size = 2};
  options.sampling = Sampling::kGroupByLength;
  options.length_group = 2;
  CHECK_REFUSED(epoch_batches(options, 0), "a sampler that looks at lengths has none");
  options.lengths = shared("few", 3);
  CHECK_REFUSED(epoch_batches(options, 0), "a sampler that looks at lengths has none");
  CHECK_REFUSED(sampling_named("shuffled"), "no order of samples named 'shuffled'");
}

}  // namespace
}  // namespace hftrain::data

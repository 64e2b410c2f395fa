// Samples are packed as TRL's pack_dataset does (scripts/golden/instructions.py).
#include "hftrain/data/packing.h"

#include "hftrain/base/json.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::data {
namespace {

PackingStrategy strategy_named(const std::string& name) {
  if (name == "wrapped") return PackingStrategy::kWrapped;
  return name == "bfd" ? PackingStrategy::kBestFit : PackingStrategy::kBestFitSplit;
}

Json as_json(const std::vector<PackedSequence>& sequences) {
  Json all = Json::array();
  for (const PackedSequence& sequence : sequences) {
    Json pieces = Json::array();
    for (const PackedPiece& piece : sequence)
      pieces.push_back(Json::array({piece.sample, piece.begin, piece.length}));
    all.push_back(std::move(pieces));
  }
  return all;
}

}  // namespace

TEST_CASE("packed sequences are TRL's", "[data][packing]") {
  const Json document = read_json_file(testing::source_dir() + "/tests/golden/tasks/instructions.json");
  for (const Json& wanted : document.at("packing")) {
    const auto lengths = wanted.at("lengths").get<std::vector<int32_t>>();
    const auto strategy = wanted.at("strategy").get<std::string>();
    INFO(strategy);
    CHECK(as_json(packed_sequences(lengths, wanted.at("longest").get<int64_t>(), strategy_named(strategy))) ==
          wanted.at("sequences"));
  }
}

TEST_CASE("nothing is packed of nothing", "[data][packing]") {
  for (const auto strategy :
       {PackingStrategy::kBestFit, PackingStrategy::kBestFitSplit, PackingStrategy::kWrapped}) {
    CHECK(packed_sequences({}, 8, strategy).empty());
    CHECK(packed_sequences(std::vector<int32_t>{0, 0}, 8, strategy).empty());
  }
}

}  // namespace hftrain::data

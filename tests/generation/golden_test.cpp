// The texts and scores of transformers (scripts/golden/generation.py).
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "generation/table_model.h"
#include "hftrain/base/file.h"
#include "hftrain/generation/score_processor.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::generation {
namespace {

const Json& golden() {
  static const Json cases = read_json_file(testing::source_dir() + "/tests/golden/generation/cases.json");
  return cases;
}

Tables golden_tables() {
  const Json& tables = golden().at("tables");
  Tables result{tables[0], tables[1], tables[2]};
  for (auto& row : result.last) row.back() = -50;
  return result;
}

GenerationConfig config_of(const Json& settings) {
  GenerationConfig config;
  take_json(config, settings, 24, "settings");
  return config;
}

// Whether these are the scores of a golden case: null is −∞.
bool are_scores(const std::vector<float>& scores, const Json& expected) {
  for (size_t token = 0; token < scores.size(); ++token) {
    if (expected[token].is_null()) {
      if (scores[token] != -std::numeric_limits<float>::infinity()) return false;
    } else {
      const auto wanted = expected[token].get<double>();
      if (!(std::abs(scores[token] - wanted) < 1e-4 * std::max(1.0, std::abs(wanted)))) return false;
    }
  }
  return scores.size() == expected.size();
}

}  // namespace

TEST_CASE("texts are those of transformers, token by token") {
  const Tables tables = golden_tables();
  size_t beams = 0;
  for (const Json& item : golden().at("texts")) {
    INFO(item.dump());
    const auto texts = item.at("prompts").get<std::vector<Ids>>();
    TableModel model(tables, texts);
    const auto written = generate(model, prompts_of(texts), config_of(item.at("settings")), 0);
    REQUIRE(written.size() == texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      const Json& expected = item.at("texts")[i];
      REQUIRE(written[i].size() == expected.size());
      for (size_t k = 0; k < expected.size(); ++k) {
        CHECK(written[i][k].ids == expected[k].at("ids").get<Ids>());
        if (!expected[k].contains("score")) continue;
        CHECK(std::abs(written[i][k].score - expected[k].at("score").get<double>()) < 1e-4);
        ++beams;
      }
    }
  }
  CHECK(beams > 100);
}

TEST_CASE("scores are processed as by transformers") {
  std::map<std::string, int> seen;
  for (const Json& item : golden().at("processors")) {
    INFO(item.dump());
    for (const auto& [key, value] : item.at("settings").items()) ++seen[key];
    const auto ids = item.at("ids").get<Ids>(), source = item.at("encoder_ids").get<Ids>();
    auto scores = item.at("scores").get<std::vector<float>>();
    apply_all(make_score_processors(config_of(item.at("settings"))), {ids, ids.size(), source}, scores);
    for (size_t token = 0; token < scores.size(); ++token) {
      const Json& expected = item.at("out")[token];
      if (expected.is_null()) {
        CHECK(scores[token] == -std::numeric_limits<float>::infinity());
      } else {
        CHECK(std::abs(scores[token] - expected.get<float>()) < 1e-4F);
      }
    }
  }
  CHECK(seen.size() == 12 + 3);  // every processor, and what all have: an end, do_sample, in some num_beams
}

TEST_CASE("scores are processed in transformers' order where several settings are asked for") {
  std::map<std::string, int> seen;
  size_t ordered = 0;
  for (const Json& item : golden().at("chains")) {
    INFO(item.dump());
    for (const auto& [key, value] : item.at("settings").items()) ++seen[key];
    const auto ids = item.at("ids").get<Ids>(), source = item.at("encoder_ids").get<Ids>();
    const RowSoFar row{ids, item.at("prompt").get<size_t>(), source};
    ScoreProcessors processors = make_score_processors(config_of(item.at("settings")));
    const auto given = item.at("scores").get<std::vector<float>>();
    auto scores = given;
    apply_all(processors, row, scores);
    CAPTURE(scores);
    CHECK(are_scores(scores, item.at("out")));
    std::ranges::reverse(processors);
    scores = given;
    apply_all(processors, row, scores);
    if (!are_scores(scores, item.at("out"))) ++ordered;
  }
  CHECK(seen.size() ==
        22 + 4);  // every setting, and what all have: an end, do_sample, a length, in some num_beams
  CHECK(ordered > golden().at("chains").size() / 2);  // in another order they are others
}

}  // namespace hftrain::generation

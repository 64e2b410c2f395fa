#include "hftrain/data/sample_tags.h"

#include <cmath>
#include <map>

#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "support/catch.h"

namespace hftrain::data {
namespace {

TEST_CASE("sample rows of tags are the same for a seed, whole, and fill the size") {
  const std::string rows = sample_tags(3, 20'000);
  CHECK(rows == sample_tags(3, 20'000));
  CHECK(rows != sample_tags(4, 20'000));
  CHECK(rows.size() <= 20'000);
  CHECK(rows.size() > 19'800);
  CHECK(rows.starts_with(sample_tags(3, 10'000)));
}

TEST_CASE("the floor of sample tags is what the rows show") {
  double words = 0, persons = 0, firms = 0;
  for (const std::string& line : split(sample_tags(5, 1 << 20), '\n')) {
    if (line.empty()) continue;
    const Json row = parse_json(line, "sample");
    REQUIRE(row["tokens"].size() == row["ner_tags"].size());
    words += static_cast<double>(row["tokens"].size());
    if (row["tokens"][1] != "wins") continue;
    (row["ner_tags"][0] == "B-PER" ? persons : firms) += 1;
  }
  const double p = persons / (persons + firms);
  CHECK(p == Approx(0.75).margin(0.02));
  const double nats = (-persons * std::log(p) - firms * std::log(1 - p)) / words;
  CHECK(sample_tags_floor().nats_per_word == Approx(nats).epsilon(0.05));
  CHECK(sample_tags_floor().accuracy == Approx(1 - firms / words).margin(0.002));
}

}  // namespace
}  // namespace hftrain::data

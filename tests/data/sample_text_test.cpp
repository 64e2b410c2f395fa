#include "hftrain/data/sample_text.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "hftrain/base/hash.h"
#include "hftrain/base/text.h"
#include "support/catch.h"

using hftrain::data::sample_text;
using hftrain::data::sample_text_floor;

TEST_CASE("The same seed gives the same bytes on every machine, another seed others") {
  CHECK(hftrain::hash_bytes(sample_text(42, 1 << 20)) == "4cf155a6d2461ba730a930402880abd4");
  CHECK(sample_text(42, 1000) == sample_text(42, 1 << 20).substr(0, sample_text(42, 1000).size()));
  CHECK(sample_text(43, 1000) != sample_text(42, 1000));
}

TEST_CASE("Sample text is whole lines within its size") {
  for (const int64_t size : {0, 1, 100, 4096, 1 << 20}) {
    const std::string text = sample_text(7, size);
    CAPTURE(size);
    REQUIRE_FALSE(text.empty());
    CHECK(text.back() == '\n');
    if (size >= 100) CHECK(static_cast<int64_t>(text.size()) <= size);
    if (size >= 4096) CHECK(static_cast<int64_t>(text.size()) > size - 200);
  }
}

TEST_CASE("The stated mean length of a line is that of drawn lines") {
  const std::string text = sample_text(1, 8 << 20);
  const auto lines = static_cast<double>(std::count(text.begin(), text.end(), '\n'));
  CHECK(static_cast<double>(text.size()) / lines ==
        Approx(sample_text_floor().characters_per_line).epsilon(0.005));
}

TEST_CASE("The stated entropy of sums is that of drawn sums") {
  // The lines "a + b = c" are a quarter of all and equally likely, so their share and number give their
  // entropy.
  const std::string text = sample_text(1, 8 << 20);
  std::map<std::string, int> sums;
  double lines = 0;
  for (const std::string& line : hftrain::split(text, '\n')) {
    if (line.empty()) continue;
    ++lines;
    if (line.find(" = ") == std::string::npos) continue;
    ++sums[line];
    const auto words = hftrain::split_words(line);
    REQUIRE(words.size() == 5);
    CHECK(std::stoi(words[0]) + std::stoi(words[2]) == std::stoi(words[4]));
  }
  CHECK(sums.size() == 33 * 33);
  double share = 0;
  for (const auto& [line, times] : sums) share += times / lines;
  CHECK(share == Approx(0.25).epsilon(0.02));
}

TEST_CASE("The floor is the entropy of the draws") {
  // Four patterns with 8*8*6*8*5, 4*8*8*5, 8*33*6*33 and 33*33 equally likely sentences.
  const double draws = std::log(8. * 8 * 6 * 8 * 5) + std::log(4. * 8 * 8 * 5) + std::log(8. * 33 * 6 * 33) +
                       std::log(33. * 33);
  CHECK(sample_text_floor().nats_per_line == Approx(std::log(4.) + draws / 4));
}

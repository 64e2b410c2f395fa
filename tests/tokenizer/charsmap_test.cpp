#include <cstring>
#include <random>
#include <stdexcept>

#include "hftrain/tokenizer/precompiled_charsmap.h"
#include "hftrain/tokenizer/unicode/segments.h"
#include "support/catch.h"

namespace hftrain::tokenizer {
namespace {

std::string charsmap_of(const std::vector<uint32_t>& units, const std::string& texts) {
  const auto size = static_cast<uint32_t>(units.size() * sizeof(uint32_t));
  std::string bytes(sizeof size + size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  std::memcpy(bytes.data() + sizeof size, units.data(), size);
  return bytes + texts;
}

// "a" becomes "xy".
std::vector<uint32_t> one_key() {
  std::vector<uint32_t> units(512, 0);
  units[0] = 256 << 10;
  units[256 ^ 'a'] = 1 << 10 | 1 << 8 | 'a';
  units[(256 ^ 'a') ^ 1] = uint32_t{1} << 31;
  return units;
}

size_t clusters_in(std::string_view text) {
  size_t clusters = 0;
  for (; !text.empty(); text.remove_prefix(unicode::grapheme_size(text))) ++clusters;
  return clusters;
}

}  // namespace

TEST_CASE("a charsmap finds the text of the shortest key") {
  const PrecompiledCharsmap charsmap(charsmap_of(one_key(), std::string("xy\0", 3)));
  CHECK(charsmap.find("abc") == "xy");
  CHECK_FALSE(charsmap.find("b"));
  CHECK_FALSE(charsmap.find(""));
  std::vector<unicode::Change> changes;
  CHECK_FALSE(charsmap.changes("bc", changes));
  CHECK(charsmap.changes("a\xCC\x81", changes));  // the mark goes with its letter
  REQUIRE(changes.size() == 2);
  CHECK(changes[1].character == 'y');
}

TEST_CASE("bytes that are no charsmap are refused") {
  const std::string whole = charsmap_of(one_key(), "xy");
  CHECK_THROWS_AS(PrecompiledCharsmap(""), std::invalid_argument);
  CHECK_THROWS_AS(PrecompiledCharsmap(whole.substr(0, 3)), std::invalid_argument);
  CHECK_THROWS_AS(PrecompiledCharsmap(whole.substr(0, 40)), std::invalid_argument);
  CHECK_THROWS_AS(PrecompiledCharsmap(std::string(4, '\0')), std::invalid_argument);
  CHECK_THROWS_AS(PrecompiledCharsmap(whole + "\xFF"), std::invalid_argument);
}

TEST_CASE("any trie is walked within its bounds") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint32_t> units(1 + random() % 600);
    for (uint32_t& unit : units)
      unit = random() % 3 == 0 ? random() : (random() % 600) << 10 | 1 << 8 | random() % 256;
    const PrecompiledCharsmap charsmap(charsmap_of(units, "ab\xC3\xA9"));
    for (int i = 0; i < 50; ++i) {
      std::vector<unicode::Change> changes;
      charsmap.changes(std::string(1 + random() % 4, static_cast<char>(random() % 128)), changes);
      CHECK(changes.size() <= 12);  // at most all texts for each character
    }
  }
}

TEST_CASE("base64 is read to the letter") {
  CHECK(decode_base64("") == "");
  CHECK(decode_base64("YQ==") == "a");
  CHECK(decode_base64("YWI=") == "ab");
  CHECK(decode_base64("YWJj") == "abc");
  for (const char* wrong : {"Y", "YQ", "YQ=", "YR==", "Y===", "YQ==YQ==", "Y Q=", "YQ-_"})
    CHECK_FALSE(decode_base64(wrong));
}

TEST_CASE("grapheme clusters are those of UAX 29") {
  CHECK(clusters_in("abc") == 3);
  CHECK(clusters_in("\r\n\n") == 2);
  CHECK(clusters_in("e\xCC\x81x") == 2);                                        // a mark
  CHECK(clusters_in("\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8") == 1);              // Hangul jamo
  CHECK(clusters_in("\xF0\x9F\x87\xB7\xF0\x9F\x87\xB8\xF0\x9F\x87\xAE") == 2);  // a flag and a half
  CHECK(clusters_in("\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9") == 1);      // a family
  CHECK(clusters_in("\xE0\xA4\x95\xE0\xA5\x8D\xE0\xA4\x95") == 1);              // a conjunct
  CHECK(clusters_in("\xE0\xA4\x95\xE0\xA4\x95") == 2);
}

}  // namespace hftrain::tokenizer

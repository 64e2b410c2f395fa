#include "hftrain/tokenizer/splitters.h"

#include <random>

#include "hftrain/tokenizer/regex_pattern.h"
#include "support/catch.h"

namespace hftrain::tokenizer {
namespace {

constexpr const char* kPatterns[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

// Characters that these patterns tell apart, letters of all cases and marks more often than the rest.
std::string random_text_to_split(std::mt19937& random) {
  static constexpr char32_t kCharacters[] = {
      ' ', ' ',   '\n',  '\r',  '\t',  0x85,   0xA0,  0x2028, '\'',    '\'',   's',    'T',     'l',
      'l', 'R',   'e',   'v',   'm',   'D',    0x17F, '1',    '2',     0xBD,   0x0664, '.',     '/',
      '_', 0x301, 0x301, 0x1C5, 0x2B0, 0x6771, 0xE9,  0xC9,   0x1F44D, 0x200D, 0x0378, 0x31350, 0x10FFFF};
  std::string text;
  for (size_t n = 1 + random() % 24; n > 0; --n)
    unicode::append(kCharacters[random() % std::size(kCharacters)], text);
  return text;
}

}  // namespace

TEST_CASE("the hand-written splitters cut exactly like their regular expressions") {
  for (const char* pattern : kPatterns) {
    const auto known = known_pattern(pattern);
    REQUIRE(known);
    const RegexPattern regex(pattern);
    std::mt19937 random(3);
    for (int i = 0; i < 20000; ++i) {
      const std::string text = random_text_to_split(random);
      std::vector<size_t> ours, theirs;
      split(*known, text,
            [&](const char*, const char* end) { ours.push_back(static_cast<size_t>(end - text.data())); });
      for (const Stretch& stretch : regex.find(text)) theirs.push_back(stretch.end);
      INFO(pattern << " on " << text);
      REQUIRE(ours == theirs);
    }
  }
}

TEST_CASE("a pattern that differs in one character is not taken for a known one") {
  CHECK_FALSE(known_pattern(std::string(kPatterns[0]) + " "));
  CHECK_FALSE(known_pattern(R"(\p{L}+)"));
}

// Matches of the package's engine, in brackets.
TEST_CASE("a pattern that can match nothing matches nothing right behind a match no more") {
  const auto matches = [](const char* pattern, std::string_view text) {
    std::string marked;
    for (const Stretch& stretch : RegexPattern(pattern).find(text)) {
      const std::string part(text.substr(stretch.begin, stretch.end - stretch.begin));
      marked += stretch.is_match ? '[' + part + ']' : part;
    }
    return marked;
  };
  CHECK(matches("x*", "axb") == "[]a[x]b[]");
  CHECK(matches("x*", "xx") == "[xx]");
  CHECK(matches("x*", "ab") == "[]a[]b[]");
  CHECK(matches("x*", "xéxx") == "[x]é[xx]");
  CHECK(matches("x*", "") == "[]");
}

TEST_CASE("a pattern that repeats a group goes on over lines of any usual length") {
  const RegexPattern words("(?:a|b|c|d| )+");
  for (const size_t size : {size_t{1500}, size_t{240000}, size_t{1} << 20}) {
    std::string line;
    while (line.size() < size) line += "ab cd ";
    const std::vector<Stretch> found = words.find(line);
    INFO(size);
    REQUIRE(found.size() == 1);
    CHECK(found.front().is_match);
    CHECK(found.front().end == line.size());
  }
}

TEST_CASE("classes are those of Unicode 16, not of the engine") {
  const RegexPattern letters(R"(\p{L}+)");
  const std::string newer = "a\xF0\xB1\x8D\x90z";  // U+31350, CJK extension H, Unicode 15
  CHECK(letters.find(newer).size() == 1);
  CHECK(RegexPattern(R"(\s)").find("\xE1\xA0\x8E").front().is_match == false);  // U+180E is no space
}

}  // namespace hftrain::tokenizer

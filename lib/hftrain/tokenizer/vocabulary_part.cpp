#include "hftrain/tokenizer/vocabulary_part.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <utility>

namespace hftrain::tokenizer {
namespace {

// A vocabulary never needs as many; a larger id is a torn file.
constexpr int64_t kLargestId = int64_t{1} << 24;

constexpr int kMostPower = 308;

std::array<double, kMostPower + 1> make_powers_of_ten() {
  std::array<double, kMostPower + 1> powers;
  for (int i = 0; i <= kMostPower; ++i)
    powers[static_cast<size_t>(i)] = std::strtod(("1e" + std::to_string(i)).c_str(), nullptr);
  return powers;
}

// The package reads a number as its digits, rounded to a double, times or over a power of ten, rounded again:
// every eighth number of 17 digits comes out a bit beside the nearest double. Where two ways to spell a text
// differ by no more than that, the bit decides between them. Files hold the shortest digits of a number, so
// that these can be had from it.
double as_the_package_reads(double value) {
  static const std::array<double, kMostPower + 1> kPowers = make_powers_of_ten();
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof text, std::abs(value), std::chars_format::scientific).ptr;
  uint64_t digits = 0;
  int exponent = 0;
  const char* at = text;
  for (bool is_fraction = false; at < end && *at != 'e'; ++at) {
    if (*at == '.') {
      is_fraction = true;
    } else {
      digits = digits * 10 + static_cast<uint64_t>(*at - '0');
      exponent -= is_fraction ? 1 : 0;
    }
  }
  int written = 0;
  if (at + 1 < end) std::from_chars(at + (at[1] == '+' ? 2 : 1), end, written);
  exponent += written;
  auto result = static_cast<double>(digits);
  for (; exponent < -kMostPower; exponent += kMostPower) result /= kPowers[kMostPower];
  if (exponent >= 0) {
    result *= kPowers[static_cast<size_t>(exponent)];
  } else {
    result /= kPowers[static_cast<size_t>(-exponent)];
  }
  return value < 0 ? -result : result;
}

std::pair<std::string_view, double> read_scored_token(simdjson::dom::element item, const JsonPart& part,
                                                      size_t id) {
  simdjson::dom::array pair;
  std::string_view token;
  double score = 0;
  if (item.get_array().get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
      pair.at(0).get_string().get(token) != simdjson::SUCCESS ||
      pair.at(1).get_double().get(score) != simdjson::SUCCESS) {
    throw part.error("entry " + std::to_string(id) + " is not a token and its score");
  }
  return {token, as_the_package_reads(score)};
}

}  // namespace

Vocabulary read_vocabulary(const JsonPart& part) {
  simdjson::dom::object object;
  if (part.element().get_object().get(object) != simdjson::SUCCESS)
    throw part.error("an object is needed here");
  Vocabulary vocabulary;
  vocabulary.reserve(object.size(), object.size() * 8);
  for (const auto& [token, value] : object) {
    int64_t id = -1;
    if (value.get_int64().get(id) != simdjson::SUCCESS || id < 0 || id > kLargestId) {
      throw part.error("the id of '" + std::string(token) + "' is not usable");
    }
    vocabulary.add(token, static_cast<TokenId>(id));
  }
  return vocabulary;
}

ScoredVocabulary read_scored_vocabulary(const JsonPart& part) {
  simdjson::dom::array list;
  if (part.element().get_array().get(list) != simdjson::SUCCESS) throw part.error("a list is needed here");
  ScoredVocabulary scored;
  for (const simdjson::dom::element item : list) {
    const size_t id = scored.scores.size();
    if (static_cast<int64_t>(id) > kLargestId) throw part.error("there are too many tokens");
    const auto [token, score] = read_scored_token(item, part, id);
    scored.vocabulary.add(token, static_cast<TokenId>(id));
    scored.scores.push_back(score);
  }
  return scored;
}

}  // namespace hftrain::tokenizer

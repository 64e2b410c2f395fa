#include "hftrain/tokenizer/substring_seeds.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

using Characters = std::vector<char32_t>;

// The words one after another; behind each a 0, which no substring reaches over.
Characters characters_of(const WordCounts& words) {
  Characters characters;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words.word(i);
    for (size_t at = 0; at < word.size(); at += unicode::size_of(word[at]))
      characters.push_back(unicode::decode(word.data() + at));
    characters.push_back(0);
  }
  return characters;
}

struct Substring {
  uint32_t weight;
  uint32_t begin;  // of one of its places
  uint32_t size;
};

class SubstringFinder {
 public:
  SubstringFinder(const Characters& characters, size_t longest)
      : characters_(characters), longest_(longest) {}

  std::vector<Substring> find() {
    sort_suffixes();
    // Of suffixes in order, those that share their first `size` characters are neighbours. Open ones are the
    // shared starts that the last suffix begins with.
    struct Open {
      size_t first;
      size_t size;
    };
    std::vector<Open> open = {{0, 0}};
    for (size_t i = 1; i <= suffixes_.size(); ++i) {
      const size_t shared = i < suffixes_.size() ? shared_start(suffixes_[i - 1], suffixes_[i]) : 0;
      size_t first = i - 1;
      while (open.back().size > shared) {
        first = open.back().first;
        report(first, i, open.back().size);
        open.pop_back();
      }
      if (open.back().size < shared) open.push_back({first, shared});
    }
    return std::move(found_);
  }

 private:
  // A suffix ends at its word's end, and one character behind the longest substring.
  void sort_suffixes() {
    for (size_t i = 0; i < characters_.size(); ++i) {
      if (characters_[i] != 0) suffixes_.push_back(static_cast<uint32_t>(i));
    }
    std::sort(suffixes_.begin(), suffixes_.end(), [this](uint32_t a, uint32_t b) {
      for (size_t i = 0; i <= longest_; ++i) {
        if (characters_[a + i] != characters_[b + i]) return characters_[a + i] < characters_[b + i];
        if (characters_[a + i] == 0) return false;
      }
      return false;
    });
  }

  // Characters that two suffixes share. Of ends of words none: they say nothing of what follows.
  size_t shared_start(uint32_t a, uint32_t b) const {
    size_t size = 0;
    while (size <= longest_ && characters_[a + size] == characters_[b + size]) {
      if (characters_[a + size++] == 0) break;
    }
    return size;
  }

  void report(size_t first, size_t end, size_t size) {
    const uint32_t begin = suffixes_[first];
    if (size < 2 || size > longest_ || characters_[begin + size - 1] == 0) return;
    const auto places = static_cast<uint32_t>(end - first);
    found_.push_back({places * static_cast<uint32_t>(size), begin, static_cast<uint32_t>(size)});
  }

  const Characters& characters_;
  size_t longest_;
  std::vector<uint32_t> suffixes_;
  std::vector<Substring> found_;
};

std::vector<std::pair<int64_t, char32_t>> counted_characters(const WordCounts& words) {
  std::map<char32_t, int64_t> counts;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words.word(i);
    for (size_t at = 0; at < word.size(); at += unicode::size_of(word[at])) {
      const char32_t character = unicode::decode(word.data() + at);
      if (character != 0) counts[character] += words.count(i);
    }
  }
  std::vector<std::pair<int64_t, char32_t>> sorted;
  for (const auto& [character, count] : counts) sorted.emplace_back(count, character);
  std::sort(sorted.rbegin(), sorted.rend());
  return sorted;
}

void sort_by_falling_weight(std::vector<Substring>& found, const Characters& characters) {
  std::sort(found.begin(), found.end(), [&](const Substring& a, const Substring& b) {
    if (a.weight != b.weight) return a.weight > b.weight;
    const char32_t* text = characters.data();
    return std::lexicographical_compare(text + b.begin, text + b.begin + b.size, text + a.begin,
                                        text + a.begin + a.size);
  });
}

}  // namespace

std::vector<ScoredPiece> substring_seeds(const WordCounts& words, size_t longest, size_t most) {
  std::vector<ScoredPiece> seeds;
  for (const auto& [count, character] : counted_characters(words)) {
    std::string text;
    unicode::append(character, text);
    seeds.emplace_back(std::move(text), static_cast<double>(count));
  }
  const Characters characters = characters_of(words);
  std::vector<Substring> found = SubstringFinder(characters, longest).find();
  sort_by_falling_weight(found, characters);
  for (const Substring& substring : found) {
    std::string text;
    for (uint32_t i = 0; i < substring.size; ++i) unicode::append(characters[substring.begin + i], text);
    seeds.emplace_back(std::move(text), static_cast<double>(substring.weight));
    if (seeds.size() >= most) break;
  }
  double sum = 0;
  for (const auto& [text, weight] : seeds) sum += weight;
  for (auto& [text, weight] : seeds) weight = std::log(weight) - std::log(sum);
  return seeds;
}

}  // namespace hftrain::tokenizer

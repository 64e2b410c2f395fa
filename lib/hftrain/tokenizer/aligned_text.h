// A text in the course of being normalised and split, and where each of its bytes comes from in the original.
// It may grow to 32 times the original and a kilobyte; what grows beyond that is an Error (exit code 4). The rules of
// alignment are those of the PyPI `tokenizers` package, including its odd corners, so that offsets come out
// the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hftrain/tokenizer/unicode/normal_forms.h"

namespace hftrain::tokenizer {

// Bytes that steps of a normalizer or a decoder may make of `original` ones. Steps one after another can double a text each, so that
// a few lines of a file would ask for all memory; what the normal forms of Unicode, ▁ for a space and two bytes for one make of a
// text is far from this.
constexpr size_t most_bytes_from(size_t original) {
  return 1024 + 32 * original;
}

// A stretch of a text that a pattern matched, or one between two matches. Stretches cover the text in order.
struct Stretch {
  size_t begin;
  size_t end;
  bool is_match;
};

class AlignedText {
 public:
  // The original itself, which begins at byte `begin` of the whole input. Valid UTF-8.
  explicit AlignedText(std::string_view original, size_t begin = 0);

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  // ASCII, every byte from a place in the original: normal forms leave it as it is.
  bool is_plain_ascii() const;
  size_t original_begin() const { return original_begin_; }  // in bytes of the whole input
  // A transformation replaced more characters or fewer than there were, as the package's do at times (a charsmap that takes
  // the first character away; one in front that came from nowhere): origins are beside their places from there to the end.
  bool is_skewed() const { return is_skewed_; }

  // Bytes of the whole input that bytes [begin, end) of the text come from.
  std::pair<size_t, size_t> original_of(size_t begin, size_t end) const;
  // Bytes [begin, end) of the text as a text of its own.
  AlignedText slice(size_t begin, size_t end) const;

  // The text becomes the characters of `changes`, which say what they replace. `removed` characters at the
  // start vanish.
  void transform(const std::vector<unicode::Change>& changes, size_t removed = 0);
  void prepend(std::string_view text);  // no effect on an empty text
  // Replaces every matching stretch.
  void replace(const std::vector<Stretch>& stretches, std::string_view content);
  // Keeps the characters for which `keep` is true.
  void filter(bool (*keep)(char32_t));
  // Every character becomes another; one of ASCII stays ASCII.
  void map(char32_t (*change)(char32_t));
  void lowercase();
  void strip(bool left, bool right);

 private:
  struct Origin {
    uint32_t begin, end;  // bytes of the original, relative to original_begin_
  };
  AlignedText() = default;
  std::pair<size_t, size_t> touched_by_original() const;
  bool map_ascii(char32_t (*change)(char32_t));
  bool is_text(const std::vector<unicode::Change>& changes) const;  // they change nothing
  void refuse_growth(size_t size) const;                            // to so many bytes
  void transform_range(size_t begin, size_t end, const std::vector<unicode::Change>& changes, size_t removed);
  Origin origin_before(size_t position) const {
    return position == 0 ? Origin{0, 0} : origins_[position - 1];
  }

  std::string text_;
  std::vector<Origin> origins_;  // of each byte of the text
  size_t original_begin_ = 0;
  size_t original_size_ = 0;
  bool is_skewed_ = false;
};

}  // namespace hftrain::tokenizer

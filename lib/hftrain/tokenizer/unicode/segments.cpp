#include "hftrain/tokenizer/unicode/segments.h"

#include <algorithm>

#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer::unicode {
namespace {

using enum GraphemeClass;

// The range of a sorted table that holds `c`, or null.
template <typename Range>
const Range* range_with(const Range* table, size_t count, char32_t c) {
  const Range* at = std::upper_bound(table, table + count, c,
                                     [](char32_t value, const Range& range) { return value < range.first; });
  return at != table && c <= at[-1].last ? at - 1 : nullptr;
}

GraphemeClass grapheme_class(char32_t c) {
  if (c >= 0x20 && c < 0x7F) return kOther;
  if (c >= 0xAC00 && c < 0xD7A4) return (c - 0xAC00) % 28 == 0 ? kLV : kLVT;
  const GraphemeRange* range = range_with(kGraphemeRanges, kGraphemeRangesCount, c);
  return range == nullptr ? kOther : range->value;
}

bool is_extend(GraphemeClass value) {
  return value == kExtend || value == kConjunctExtend || value == kLinker;
}

bool breaks_always(GraphemeClass value) {
  return value == kControl || value == kCR || value == kLF;
}

// What the characters so far mean for the next boundary.
class Cluster {
 public:
  explicit Cluster(GraphemeClass first) { take(first); }

  bool continues_with(GraphemeClass next) const {
    if (last_ == kCR && next == kLF) return true;
    if (breaks_always(last_) || breaks_always(next)) return false;
    if (is_extend(next) || next == kZWJ || next == kSpacingMark || last_ == kPrepend) return true;
    if (is_syllable_pair(next)) return true;
    if (next == kConsonant) return conjunct_ && linker_;
    if (next == kPictographic) return last_ == kZWJ && emoji_;
    return last_ == kRegionalIndicator && next == kRegionalIndicator && odd_indicators_;
  }

  void take(GraphemeClass next) {
    if (next == kPictographic) {
      emoji_ = true;
    } else if (next == kZWJ ? last_ == kZWJ : !is_extend(next)) {
      emoji_ = false;  // Pictographic Extend* ZWJ
    }
    if (next == kConsonant) {
      conjunct_ = true;
      linker_ = false;
    } else if (next == kLinker) {
      linker_ = true;
    } else if (next != kConjunctExtend && next != kZWJ) {
      conjunct_ = false;
    }
    odd_indicators_ = next == kRegionalIndicator && !odd_indicators_;
    last_ = next;
  }

 private:
  bool is_syllable_pair(GraphemeClass next) const {
    if (last_ == kL) return next == kL || next == kV || next == kLV || next == kLVT;
    if (last_ == kLV || last_ == kV) return next == kV || next == kT;
    return (last_ == kLVT || last_ == kT) && next == kT;
  }

  GraphemeClass last_ = kOther;
  bool emoji_ = false;           // after a pictograph, its extenders and at most one joiner
  bool conjunct_ = false;        // after a consonant and what may stand within a conjunct,
  bool linker_ = false;          // a linker among it
  bool odd_indicators_ = false;  // half a flag
};

}  // namespace

size_t grapheme_size(std::string_view text) {
  size_t at = size_of(text[0]);
  if (at == text.size()) return at;
  // Most text: a letter of ASCII before another.
  if (at == 1 && text[0] >= 0x20 && text[0] < 0x7F && static_cast<uint8_t>(text[1]) < 0x80) return 1;
  Cluster cluster(grapheme_class(decode(text.data())));
  while (at < text.size()) {
    const GraphemeClass next = grapheme_class(decode(text.data() + at));
    if (!cluster.continues_with(next)) break;
    cluster.take(next);
    at += size_of(text[at]);
  }
  return at;
}

bool is_own_cluster(char32_t c) {
  const GraphemeClass value = grapheme_class(c);
  return value == kOther || value == kLV || value == kLVT || value == kPictographic || value == kConsonant;
}

uint8_t script_of(char32_t c) {
  const ScriptRange* range = range_with(kScriptRanges, kScriptRangesCount, c);
  return range == nullptr ? 0 : range->script;
}

}  // namespace hftrain::tokenizer::unicode

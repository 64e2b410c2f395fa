// Where the PyPI `tokenizers` package cuts text into grapheme clusters, and which script it sees in a
// character. The tables are made by scripts/generate_segment_tables.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hftrain::tokenizer::unicode {

// Unicode Standard Annex 29, table 2, with Indic_Conjunct_Break.
enum class GraphemeClass : uint8_t {
  kOther,
  kCR,
  kLF,
  kControl,
  kExtend,
  kConjunctExtend,  // Extend within an Indic conjunct
  kLinker,          // Extend that makes one
  kZWJ,
  kSpacingMark,
  kPrepend,
  kRegionalIndicator,
  kPictographic,
  kConsonant,
  kL,
  kV,
  kT,
  kLV,
  kLVT
};

struct GraphemeRange {
  char32_t first, last;
  GraphemeClass value;
};
extern const GraphemeRange kGraphemeRanges[];  // sorted; Hangul syllables are arithmetic, all others kOther
extern const size_t kGraphemeRangesCount;

struct ScriptRange {
  char32_t first, last;
  uint8_t script;
};
extern const ScriptRange kScriptRanges[];  // sorted
extern const size_t kScriptRangesCount;

// Bytes of the extended grapheme cluster that valid text, which is not empty, begins with (UAX 29, section
// 3).
size_t grapheme_size(std::string_view text);
// Whether `c` is a cluster of its own wherever it stands between characters of which this is true as well.
bool is_own_cluster(char32_t c);
// A number for each script that UnicodeScripts tells apart; 0 goes with any.
uint8_t script_of(char32_t c);

}  // namespace hftrain::tokenizer::unicode

// Upper, lower and title case, and digits beyond Nd, as Python has them: tables made by scripts/generate_case_tables.py.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hftrain::chat {

// Characters first, first + step, … last, each of which becomes the one `delta` further on. Sorted.
struct CaseRun {
  char32_t first, last;
  int32_t step, delta;
};
// A character that becomes several; ends with a zero where they are fewer than three.
struct CaseExpansion {
  char32_t from;
  char32_t to[3];
};
struct CodeRange {
  char32_t first, last;
};

extern const CaseRun kUpperRuns[], kLowerRuns[], kTitleRuns[];
extern const size_t kUpperRunCount, kLowerRunCount, kTitleRunCount;
extern const CaseExpansion kUpperExpansions[], kLowerExpansions[], kTitleExpansions[];
extern const size_t kUpperExpansionCount, kLowerExpansionCount, kTitleExpansionCount;
// Where isdigit() and isnumeric() are true and isdecimal() is not. Title tables hold what is not as in upper case.
extern const CodeRange kFurtherDigits[], kFurtherNumbers[];
extern const size_t kFurtherDigitsCount, kFurtherNumbersCount;

}  // namespace hftrain::chat

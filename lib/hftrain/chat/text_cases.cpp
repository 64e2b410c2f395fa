#include "hftrain/chat/text_cases.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "hftrain/chat/case_tables.h"
#include "hftrain/tokenizer/unicode/properties.h"
#include "hftrain/tokenizer/unicode/python_text.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

namespace unicode = tokenizer::unicode;
using unicode::Category;

struct CaseTable {
  std::span<const CaseRun> runs;
  std::span<const CaseExpansion> expansions;
};

CaseTable table_of(Case form) {
  switch (form) {
    case Case::kUpper:
      return {{kUpperRuns, kUpperRunCount}, {kUpperExpansions, kUpperExpansionCount}};
    case Case::kLower:
      return {{kLowerRuns, kLowerRunCount}, {kLowerExpansions, kLowerExpansionCount}};
    case Case::kTitle:
      return {{kTitleRuns, kTitleRunCount}, {kTitleExpansions, kTitleExpansionCount}};
  }
  return {};
}

bool take_from(const CaseTable& table, char32_t c, std::u32string& out) {
  const auto expansion = std::ranges::lower_bound(table.expansions, c, {}, &CaseExpansion::from);
  if (expansion != table.expansions.end() && expansion->from == c) {
    for (const char32_t part : expansion->to) {
      if (part != 0) out += part;
    }
    return true;
  }
  auto run = std::ranges::upper_bound(table.runs, c, {}, &CaseRun::first);
  if (run == table.runs.begin() || c > (--run)->last) return false;
  if ((c - run->first) % static_cast<char32_t>(run->step) != 0) return false;
  out += static_cast<char32_t>(static_cast<int32_t>(c) + run->delta);
  return true;
}

void put_in_case(char32_t c, Case form, std::u32string& out) {
  if (take_from(table_of(form), c, out)) return;
  if (form == Case::kTitle && take_from(table_of(Case::kUpper), c, out)) return;
  out += c;
}

// Upper and lower case and title case, and what has the look of it.
bool has_case(char32_t c, bool upper) {
  const bool circled = (c >= 0x2160 && c <= 0x217F) || (c >= 0x24B6 && c <= 0x24E9);
  if (circled) return upper == (c < 0x2170 || (c >= 0x24B6 && c < 0x24D0));
  if (upper)
    return unicode::category(c) == Category::Lu || (c >= 0x1F130 && c <= 0x1F189 && is_cased_character(c));
  const bool letter = unicode::category(c) == Category::Ll || c == 0xAA || c == 0xBA;
  return letter || (c >= 0x2B0 && c <= 0x2B8) || c == 0x2C0 || c == 0x2C1 || (c >= 0x2E0 && c <= 0x2E4) ||
         c == 0x345 || c == 0x37A || (c >= 0x1D2C && c <= 0x1D6A) || c == 0x1D78 ||
         (c >= 0x1D9B && c <= 0x1DBF);
}

bool in_ranges(char32_t c, const CodeRange* ranges, size_t count) {
  return std::any_of(ranges, ranges + count,
                     [&](const CodeRange& range) { return range.first <= c && c <= range.last; });
}

bool is_digit(char32_t c) {
  return unicode::category(c) == Category::Nd || in_ranges(c, kFurtherDigits, kFurtherDigitsCount);
}

bool is_numeral(char32_t c) {
  return unicode::category(c) == Category::Nd || in_ranges(c, kFurtherNumbers, kFurtherNumbersCount);
}

bool is_letter(char32_t c) {
  return unicode::in(c, unicode::kLetters);
}

// Letters of the one case and none of the other.
bool is_all(const std::u32string& text, bool upper) {
  bool found = false;
  for (const char32_t c : text) {
    if (has_case(c, !upper) || unicode::category(c) == Category::Lt) return false;
    found = found || has_case(c, upper);
  }
  return found;
}

bool is_title(const std::u32string& text) {
  bool found = false, inside = false;
  for (const char32_t c : text) {
    const bool upper = has_case(c, true) || unicode::category(c) == Category::Lt;
    if (upper ? inside : has_case(c, false) && !inside) return false;
    inside = upper || has_case(c, false);
    found = found || inside;
  }
  return found;
}

bool is_identifier(const std::u32string& text) {
  if (text.empty() || is_numeral(text[0]) || !unicode::is_python_word(text[0])) return false;
  return std::ranges::all_of(text, [](char32_t c) {
    return unicode::is_python_word(c) || unicode::category(c) == Category::Mn ||
           unicode::category(c) == Category::Mc;
  });
}

// Of all characters, of which there must be one.
template <bool (*kIs)(char32_t)>
bool all_are(const std::u32string& text) {
  return !text.empty() && std::ranges::all_of(text, kIs);
}

bool is_decimal(char32_t c) {
  return unicode::category(c) == Category::Nd;
}

bool is_letter_or_numeral(char32_t c) {
  return is_letter(c) || is_numeral(c);
}

bool is_ascii_text(const std::u32string& text) {
  return std::ranges::all_of(text, [](char32_t c) { return c < 128; });
}

bool is_printable_text(const std::u32string& text) {
  return std::ranges::all_of(text, is_printable_character);
}

bool is_lower_text(const std::u32string& text) {
  return is_all(text, false);
}

bool is_upper_text(const std::u32string& text) {
  return is_all(text, true);
}

// In the order of kQualityNames.
constexpr bool (*kQualities[])(const std::u32string&) = {all_are<is_letter_or_numeral>,
                                                         all_are<is_letter>,
                                                         is_ascii_text,
                                                         all_are<is_decimal>,
                                                         all_are<is_digit>,
                                                         is_identifier,
                                                         is_lower_text,
                                                         all_are<is_numeral>,
                                                         is_printable_text,
                                                         all_are<unicode::is_python_space>,
                                                         is_title,
                                                         is_upper_text};
static_assert(std::size(kQualities) == kQualityNames.size());

}  // namespace

bool is_cased_character(char32_t c) {
  constexpr unicode::CategorySet kCased =
      unicode::bit(Category::Lu) | unicode::bit(Category::Ll) | unicode::bit(Category::Lt);
  return unicode::in(c, kCased) || (c < 0x1F130 && has_case(c, false)) ||
         (c < 0x1F130 && has_case(c, true)) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

bool is_printable_character(char32_t c) {
  constexpr unicode::CategorySet kHidden = unicode::kOthers | unicode::kSeparators;
  return c == ' ' || !unicode::in(c, kHidden);
}

std::string in_case(std::string_view text, Case form) {
  if (form == Case::kLower) return unicode::python_lower(text);
  std::u32string made;
  for (const char32_t c : unicode::characters(text)) put_in_case(c, form, made);
  return unicode::utf8(made);
}

std::string capitalized(std::string_view text) {
  if (text.empty()) return "";
  const size_t first = unicode::size_of(text[0]);
  // A sigma behind the first letter knows that one.
  const std::string lowered = in_case(text, Case::kLower),
                    alone = in_case(text.substr(0, first), Case::kLower);
  return in_case(text.substr(0, first), Case::kTitle) + lowered.substr(alone.size());
}

std::string title_cased(std::string_view text) {
  const std::u32string characters = unicode::characters(text);
  std::u32string made;
  bool inside = false;
  for (const char32_t c : characters) {
    put_in_case(c, inside ? Case::kLower : Case::kTitle, made);
    inside = is_cased_character(c);
  }
  return unicode::utf8(made);
}

std::string swapped_case(std::string_view text) {
  std::u32string made;
  for (const char32_t c : unicode::characters(text)) {
    put_in_case(c, has_case(c, true) ? Case::kLower : has_case(c, false) ? Case::kUpper : Case::kTitle, made);
  }
  return unicode::utf8(made);
}

bool has_quality(size_t index, std::string_view text) {
  return kQualities[index](unicode::characters(text));
}

}  // namespace hftrain::chat

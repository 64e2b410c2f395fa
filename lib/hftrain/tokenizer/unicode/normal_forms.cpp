#include "hftrain/tokenizer/unicode/normal_forms.h"

#include <algorithm>
#include <optional>
#include <string>

#include "hftrain/tokenizer/unicode/normal_form_tables.h"
#include "hftrain/tokenizer/unicode/properties.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer::unicode {
namespace {

// Hangul syllables are arithmetic: The Unicode Standard, section 3.12.
constexpr char32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11A7;
constexpr char32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;
constexpr char32_t kSyllableCount = kLeadCount * kVowelCount * kTailCount;

bool is_syllable(char32_t c) {
  return c >= kSyllables && c < kSyllables + kSyllableCount;
}

const Decomposition* find(const Decomposition* table, size_t count, char32_t c) {
  const auto* at = std::lower_bound(table, table + count, c, [](const Decomposition& entry, char32_t value) {
    return entry.code_point < value;
  });
  return at != table + count && at->code_point == c ? at : nullptr;
}

std::optional<char32_t> compose(char32_t first, char32_t second) {
  if (first >= kLeads && first < kLeads + kLeadCount && second >= kVowels && second < kVowels + kVowelCount) {
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTailCount;
  }
  if (is_syllable(first) && (first - kSyllables) % kTailCount == 0 && second > kTails &&
      second < kTails + kTailCount) {
    return first + (second - kTails);
  }
  const auto before = [](const Composition& entry, const Composition& value) {
    return entry.first != value.first ? entry.first < value.first : entry.second < value.second;
  };
  const Composition* end = kCompositions + kCompositionsCount;
  const auto* at = std::lower_bound(kCompositions, end, Composition{first, second, 0}, before);
  if (at == end || at->first != first || at->second != second) return std::nullopt;
  return at->composed;
}

// Decomposes characters one after the other and sorts runs of marks by their class, stably.
class Decomposer {
 public:
  explicit Decomposer(bool compatible) : compatible_(compatible) {}

  std::vector<Change> run(std::string_view text) {
    result_.reserve(text.size());
    for (const char* p = text.data(); p < text.data() + text.size(); p += size_of(*p)) add(decode(p));
    sort_marks();
    return std::move(result_);
  }

 private:
  void add(char32_t c) {
    first_ = true;
    if (c < 0x80) return push(c);
    if (is_syllable(c)) return add_syllable(c - kSyllables);
    const Decomposition* entry = compatible_ ? find(kCompatible, kCompatibleCount, c) : nullptr;
    if (entry == nullptr) entry = find(kCanonical, kCanonicalCount, c);
    if (entry == nullptr) return push(c);
    for (size_t i = 0; i < entry->length; ++i) push(kDecomposed[entry->begin + i]);
  }

  void add_syllable(char32_t index) {
    push(kLeads + index / (kVowelCount * kTailCount));
    push(kVowels + index % (kVowelCount * kTailCount) / kTailCount);
    if (index % kTailCount != 0) push(kTails + index % kTailCount);
  }

  void push(char32_t c) {
    const uint8_t value = c < 0x300 ? 0 : combining_class(c);
    if (value == 0) sort_marks();
    result_.push_back({c, first_ ? 0 : 1});
    first_ = false;
    if (value != 0) {
      marks_.push_back(value);
    }
  }

  // The marks are the last characters of the result.
  void sort_marks() {
    if (marks_.size() > 1) {
      const size_t begin = result_.size() - marks_.size();
      std::vector<std::pair<uint8_t, Change>> run;
      for (size_t i = 0; i < marks_.size(); ++i) run.emplace_back(marks_[i], result_[begin + i]);
      std::stable_sort(run.begin(), run.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 0; i < run.size(); ++i) result_[begin + i] = run[i].second;
    }
    marks_.clear();
  }

  bool compatible_;
  bool first_ = true;
  std::vector<Change> result_;
  std::vector<uint8_t> marks_;
};

// Composes a decomposed text: a starter takes up every following character that no other blocks.
class Composer {
 public:
  std::vector<Change> run(const std::vector<Change>& decomposed) {
    result_.reserve(decomposed.size());
    for (const Change& change : decomposed) add(change);
    flush();
    return std::move(result_);
  }

 private:
  void add(Change next) {
    const uint8_t value = next.character < 0x300 ? 0 : combining_class(next.character);
    if (!starter_) {
      if (value != 0) {
        result_.push_back(next);
      } else {
        starter_ = next;
      }
      return;
    }
    const bool blocked = last_class_ && *last_class_ >= value;
    if (!blocked) {
      if (const auto composed = compose(starter_->character, next.character)) {
        starter_ = Change{*composed, starter_->change + next.change - 1};
        return;
      }
    }
    if (value == 0) {
      flush();
      starter_ = next;
    } else {
      marks_.push_back(next);
      last_class_ = value;
    }
  }

  void flush() {
    if (starter_) result_.push_back(*starter_);
    result_.insert(result_.end(), marks_.begin(), marks_.end());
    marks_.clear();
    starter_.reset();
    last_class_.reset();
  }

  std::optional<Change> starter_;
  std::optional<uint8_t> last_class_;
  std::vector<Change> marks_;
  std::vector<Change> result_;
};

}  // namespace

uint8_t combining_class(char32_t c) {
  const CombiningClass* end = kCombiningClasses + kCombiningClassesCount;
  const auto* at =
      std::upper_bound(kCombiningClasses, end, c,
                       [](char32_t value, const CombiningClass& range) { return value < range.first; });
  return at != kCombiningClasses && c <= at[-1].last ? at[-1].value : 0;
}

std::vector<Change> normalize(std::string_view text, NormalForm form) {
  const bool compatible = form == NormalForm::kNfkd || form == NormalForm::kNfkc;
  std::vector<Change> changes = Decomposer(compatible).run(text);
  if (form == NormalForm::kNfc || form == NormalForm::kNfkc) changes = Composer().run(changes);
  return changes;
}

char32_t lowercase_of(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  const Lowercase* end = kLowercase + kLowercaseCount;
  const auto* at = std::lower_bound(
      kLowercase, end, c, [](const Lowercase& entry, char32_t value) { return entry.from < value; });
  return at != end && at->from == c ? at->to : c;
}

std::vector<Change> lowercase(std::string_view text) {
  std::vector<Change> changes;
  changes.reserve(text.size());
  for (const char* p = text.data(); p < text.data() + text.size(); p += size_of(*p)) {
    const char32_t c = decode(p);
    changes.push_back({lowercase_of(c), 0});
    if (c == 0x130) changes.push_back({0x307, 1});
  }
  return changes;
}

// Marks are sorted up to the next character of class 0, and only some characters are taken up by one before them.
bool keeps_apart(char32_t c, NormalForm form) {
  const bool compatible = form == NormalForm::kNfkd || form == NormalForm::kNfkc;
  const bool composes = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  std::string text;
  append(c, text);
  const char32_t first = Decomposer(compatible).run(text).front().character;
  return combining_class(first) == 0 && (!composes || is_nfc_inert(first));
}

bool is_plain_nfc(std::string_view text) {
  if (is_ascii(text)) return true;
  for (const char* p = text.data(); p < text.data() + text.size(); p += size_of(*p)) {
    if (static_cast<uint8_t>(*p) >= 0x80 && !is_nfc_inert(decode(p))) return false;
  }
  return true;
}

}  // namespace hftrain::tokenizer::unicode

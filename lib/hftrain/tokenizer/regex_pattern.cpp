#define PCRE2_CODE_UNIT_WIDTH 8
#include "hftrain/tokenizer/regex_pattern.h"

#include <pcre2.h>

#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/tokenizer/unicode/properties.h"

namespace hftrain::tokenizer {
namespace {

using unicode::CategorySet;

// Of an expression with its classes written out; those of the known tokenizers take a tenth.
constexpr size_t kLongestExpanded = size_t{1} << 20;

constexpr std::array<std::string_view, 30> kCategoryNames = {
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn", "Cs"};

CategorySet category_set(std::string_view name) {
  if (name == "L") return unicode::kLetters;
  if (name == "M") return unicode::kMarks;
  if (name == "N") return unicode::kNumbers;
  if (name == "P") return unicode::kPunctuation;
  if (name == "S") return unicode::kSymbols;
  if (name == "Z") return unicode::kSeparators;
  if (name == "C") return unicode::kOthers;
  for (size_t i = 0; i < kCategoryNames.size(); ++i) {
    if (kCategoryNames[i] == name) return CategorySet{1} << i;
  }
  return 0;
}

void append_range(char32_t first, char32_t last, std::string& ranges) {
  char text[40];
  std::snprintf(text, sizeof text, first == last ? "\\x{%X}" : "\\x{%X}-\\x{%X}",
                static_cast<unsigned>(first), static_cast<unsigned>(last));
  ranges += text;
}

// The code points for which `is` holds, without surrogates, as the inside of a bracket.
std::string ranges_where(const std::function<bool(char32_t)>& is) {
  std::string ranges;
  constexpr char32_t kEnd = 0x110000, kNone = kEnd;
  char32_t first = kNone;
  for (char32_t c = 0; c <= kEnd; ++c) {
    const bool surrogate = c >= 0xD800 && c < 0xE000;
    if (c < kEnd && !surrogate && is(c)) {
      if (first == kNone) first = c;
    } else if (first != kNone) {
      append_range(first, c - 1, ranges);
      first = kNone;
    }
  }
  return ranges;
}

bool in_script(const unicode::Script& script, char32_t c) {
  for (size_t i = 0; i < script.count; ++i) {
    if (c >= script.ranges[i].first && c <= script.ranges[i].last) return true;
  }
  return false;
}

std::string find_property(std::string_view name, bool negated) {
  if (const CategorySet set = category_set(name)) {
    return ranges_where([&](char32_t c) { return unicode::in(c, set) != negated; });
  }
  for (size_t i = 0; i < unicode::kScriptCount; ++i) {
    if (unicode::kScripts[i].name == name) {
      return ranges_where([&](char32_t c) { return in_script(unicode::kScripts[i], c) != negated; });
    }
  }
  throw std::invalid_argument("the character property '" + std::string(name) +
                              "' is not among those hftrain knows");
}

// The package's engine takes superscript digits and fractions of Latin-1 for words outside of brackets only.
bool is_word_in_brackets(char32_t c) {
  return unicode::is_regex_word(c) && !(c < 0x100 && unicode::category(c) == unicode::Category::No);
}

std::string find_shorthand(char letter, bool in_brackets) {
  const bool negated = letter >= 'A' && letter <= 'Z';
  switch (negated ? letter + 32 : letter) {
    case 's':
      return ranges_where([=](char32_t c) { return unicode::is_white_space(c) != negated; });
    case 'w':
      return ranges_where([=](char32_t c) {
        return (in_brackets ? is_word_in_brackets(c) : unicode::is_regex_word(c)) != negated;
      });
    case 'd':
      return find_property("Nd", negated);
    default:  // h: a hexadecimal digit
      return ranges_where([=](char32_t c) {
        return ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) != negated;
      });
  }
}

// All code points are looked at once for each class that this process meets, not each time that it stands
// somewhere.
template <typename Find>
const std::string& remembered(const std::string& key, Find find) {
  static std::mutex mutex;
  static std::map<std::string, std::string> found;  // of names that are known: they are not many
  const std::lock_guard lock(mutex);
  const auto known = found.find(key);
  return known != found.end() ? known->second : found.emplace(key, find()).first->second;
}

const std::string& property_ranges(const std::string& name, bool negated) {
  return remembered((negated ? "P" : "p") + name, [&] { return find_property(name, negated); });
}

const std::string& shorthand_ranges(char letter, bool in_brackets) {
  return remembered(std::string(in_brackets ? "[" : "") + letter,
                    [&] { return find_shorthand(letter, in_brackets); });
}

// Walks an expression once and copies it with its classes written out.
class ClassExpander {
 public:
  explicit ClassExpander(const std::string& expression) : text_(expression) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(result_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\\') return escape();
    if (c == '[') {
      if (text_.compare(at_, 2, "[:") == 0 && depth_ > 0) refuse("a POSIX class such as [:alpha:]");
      if (depth_ > 0) refuse("a class inside a class");
      ++depth_;
      copy(1);
      if (at_ < text_.size() && text_[at_] == '^') copy(1);
      if (at_ < text_.size() && text_[at_] == ']') copy(1);
      return;
    }
    if (c == ']' && depth_ > 0) --depth_;
    if (c == '&' && depth_ > 0 && text_.compare(at_, 2, "&&") == 0) refuse("an intersection of classes");
    if (c == '}' && depth_ == 0 && at_ + 1 < text_.size() && text_[at_ + 1] == '+')
      refuse("'+' behind a counted repetition");
    copy(1);
  }

  void escape() {
    if (at_ + 1 >= text_.size()) refuse("a backslash at the end");
    const char letter = text_[at_ + 1];
    if (letter == 'p' || letter == 'P') return property(letter == 'P');
    if (std::string_view("swdhSWDH").find(letter) != std::string_view::npos) {
      at_ += 2;
      return write(shorthand_ranges(letter, depth_ > 0));
    }
    if (std::string_view("bBGRXKNOyYZzA").find(letter) != std::string_view::npos && depth_ == 0 &&
        std::string_view("AzZ").find(letter) == std::string_view::npos) {
      refuse(std::string("the escape \\") + letter);
    }
    copy(2);
  }

  void property(bool negated) {
    const size_t close = text_.find('}', at_);
    if (at_ + 2 >= text_.size() || text_[at_ + 2] != '{' || close == std::string::npos)
      refuse("\\p without braces");
    std::string name = text_.substr(at_ + 3, close - at_ - 3);
    if (!name.empty() && name[0] == '^') {
      negated = !negated;
      name.erase(0, 1);
    }
    at_ = close + 1;
    write(property_ranges(name, negated));
  }

  void write(const std::string& ranges) {
    result_ += depth_ > 0 ? ranges : '[' + ranges + ']';
    if (result_.size() > kLongestExpanded) refuse("more classes");
  }
  void copy(size_t characters) {
    result_.append(text_, at_, characters);
    at_ += characters;
  }
  [[noreturn]] static void refuse(const std::string& what) {
    throw std::invalid_argument("the expression has " + what + ", which hftrain cannot honour");
  }

  const std::string& text_;
  std::string result_;
  size_t at_ = 0;
  int depth_ = 0;
};

// How matches of this thread run. A repetition of a group takes stack or heap with every round, so a long
// line needs more than the 32 KiB that compiled patterns have by themselves; the interpreter takes over from
// there.
class MatchLimits {
 public:
  MatchLimits()
      : stack_(pcre2_jit_stack_create(32 << 10, kJitStackBytes, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    if (stack_ == nullptr || context_ == nullptr) throw std::bad_alloc();
    pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
    pcre2_set_heap_limit(context_.get(), kHeapKibibytes);
    pcre2_set_match_limit(context_.get(), kMatchLimit);
  }
  pcre2_match_context* context() const { return context_.get(); }

 private:
  static constexpr size_t kJitStackBytes = 8 << 20;
  static constexpr uint32_t kHeapKibibytes = 2 << 20, kMatchLimit = 1 << 30;

  struct Free {
    void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  };
  std::unique_ptr<pcre2_jit_stack, Free> stack_;
  std::unique_ptr<pcre2_match_context, Free> context_;
};

int match(const pcre2_code* code, std::string_view text, size_t from, pcre2_match_data* data) {
  thread_local const MatchLimits limits;
  const auto run = [&](uint32_t options) {
    return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                       PCRE2_NO_UTF_CHECK | options, data, limits.context());
  };
  const int count = run(0);
  return count == PCRE2_ERROR_JIT_STACKLIMIT ? run(PCRE2_NO_JIT) : count;
}

Error gives_up(int code, size_t size) {
  unsigned char message[256];
  pcre2_get_error_message(code, message, sizeof message);
  return Error(ExitCode::kData, "a pattern of the tokenizer gives up on this text")
      .why(reinterpret_cast<const char*>(message) + std::string(", in a text of ") + format_bytes(size))
      .hint("split what is so long; or give the pattern less to repeat");
}

}  // namespace

std::string expand_classes(const std::string& expression) {
  return ClassExpander(expression).run();
}

RegexPattern::RegexPattern(const std::string& expression) {
  const std::string expanded = expand_classes(expression);
  int error = 0;
  PCRE2_SIZE offset = 0;
  // ^ and $ mean lines in the dialect of the file.
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expanded.data()), expanded.size(),
                    PCRE2_UTF | PCRE2_MULTILINE | PCRE2_NO_UTF_CHECK, &error, &offset, nullptr);
  if (code == nullptr) {
    unsigned char message[256];
    pcre2_get_error_message(error, message, sizeof message);
    throw std::invalid_argument("the expression '" + expression +
                                "' does not compile: " + reinterpret_cast<const char*>(message));
  }
  code_ = std::shared_ptr<void>(code, [](void* held) { pcre2_code_free(static_cast<pcre2_code*>(held)); });
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without it the interpreter runs: slower, same matches
}

std::vector<Stretch> RegexPattern::find(std::string_view text) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> data(
      pcre2_match_data_create_from_pattern(code, nullptr), pcre2_match_data_free);
  std::vector<Stretch> stretches;
  size_t previous = 0, from = 0;
  while (from <= text.size()) {
    const int count = match(code, text, from, data.get());
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) throw gives_up(count, text.size());
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data.get());
    const size_t begin = range[0], end = range[1];
    from = end > begin ? end : end + 1;
    while (from < text.size() && (static_cast<uint8_t>(text[from]) & 0xC0) == 0x80) ++from;
    // As for the package, nothing is no match where the last one ended.
    if (begin == end && end == previous && !stretches.empty()) continue;
    if (begin > previous) stretches.push_back({previous, begin, false});
    stretches.push_back({begin, end, true});
    previous = end;
  }
  if (previous < text.size()) stretches.push_back({previous, text.size(), false});
  return stretches;
}

}  // namespace hftrain::tokenizer

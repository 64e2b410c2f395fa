#include <cmath>

#include "hftrain/chat/dict.h"
#include "hftrain/chat/format.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/numbers.h"
#include "hftrain/chat/printing.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

// One run over a format with its values.
class PercentFormat {
 public:
  PercentFormat(Runtime& runtime, std::string_view format, const Value& values)
      : runtime_(runtime), rest_(format), values_(values), tuple_(values.as_sequence()) {
    if (tuple_ != nullptr && !tuple_->is_tuple) tuple_ = nullptr;
  }

  std::string run() {
    std::string out;
    while (!rest_.empty()) {
      const size_t mark = rest_.find('%');
      out += rest_.substr(0, mark);
      rest_.remove_prefix(std::min(mark, rest_.size()));
      if (rest_.empty()) break;
      rest_.remove_prefix(1);
      out += field();
      runtime_.step();
      runtime_.expect_held(out.size());
    }
    const bool more = tuple_ != nullptr ? used_ < tuple_->items.size()
                                        : used_ == 0 && values_.as_dict() == nullptr &&
                                              !values_.is<Undefined>() && !values_.is<Range>();
    if (more && !by_name_ && !(values_.as_sequence() != nullptr && tuple_ == nullptr)) {
      runtime_.fail("not all arguments converted during string formatting");
    }
    return out;
  }

 private:
  char next() {
    if (rest_.empty()) runtime_.fail("incomplete format");
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  const Value& value() {
    if (tuple_ != nullptr ? used_ >= tuple_->items.size() : used_ > 0) {
      runtime_.fail("not enough arguments for format string");
    }
    return tuple_ != nullptr ? tuple_->items[used_++] : (++used_, values_);
  }

  int64_t count() {
    if (rest_.starts_with('*')) {
      next();
      const auto given = value().as_integer();
      if (!given) runtime_.fail("* wants int");
      return *given;
    }
    int64_t number = 0;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      number = number * 10 + (next() - '0');
      if (number > INT32_MAX) runtime_.fail("width too big");
    }
    return number;
  }

  const Value* named() {
    if (!rest_.starts_with('(')) return nullptr;
    const size_t end = rest_.find(')');
    if (end == rest_.npos) runtime_.fail("incomplete format key");
    const Dict* dict = values_.as_dict();
    if (dict == nullptr) runtime_.fail("format requires a mapping");
    const Value* found = dict->find(rest_.substr(1, end - 1));
    if (found == nullptr)
      runtime_.fail("the format names '" + std::string(rest_.substr(1, end - 1)) + "', which is not there");
    rest_.remove_prefix(end + 1);
    by_name_ = true;
    return found;
  }

  std::string field() {
    const Value* chosen = named();
    FormatSpec spec{.align = '>'};
    for (; !rest_.empty() && std::string_view("#0- +").find(rest_[0]) != std::string_view::npos; next())
      flag(rest_[0], spec);
    spec.width = count();
    if (spec.width < 0) spec.width = -spec.width, spec.align = '<';
    if (rest_.starts_with('.')) next(), spec.precision = std::max<int64_t>(count(), 0);
    while (rest_.starts_with('l') || rest_.starts_with('h') || rest_.starts_with('L')) next();
    spec.type = next();
    if (spec.type == '%') return "%";
    return converted(chosen != nullptr ? *chosen : value(), spec);
  }

  static void flag(char c, FormatSpec& spec) {
    if (c == '#') spec.alternate = true;
    if (c == '-') spec.align = '<';
    if (c == '+' || (c == ' ' && spec.sign != '+')) spec.sign = c;
    if (c == '0' && spec.align != '<') spec.fill = '0', spec.align = '=';
  }

  std::string converted(const Value& given, FormatSpec spec) {
    switch (spec.type) {
      case 's':
      case 'r':
      case 'a':
        return text(given, spec);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return integer(given, spec);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return number(given, spec);
      case 'c':
        return character(given, spec);
      default:
        runtime_.fail(std::string("unsupported format character '") + spec.type + "'");
    }
  }

  std::string text(const Value& given, FormatSpec spec) {
    if (spec.type == 'a') runtime_.outside("%a in a format");
    const std::string shown = spec.type == 's' ? printed(runtime_, given) : repr(runtime_, given);
    spec.type = 0, spec.sign = '-', spec.alternate = false, spec.fill = ' ';
    if (spec.align == '=') spec.align = '>';
    return formatted(runtime_, runtime_.text(shown), spec);
  }

  std::string integer(const Value& given, FormatSpec spec) {
    const bool hexadecimal = spec.type == 'x' || spec.type == 'X' || spec.type == 'o';
    const auto whole = given.as_integer();
    if (!given.as_number() || (hexadecimal && !whole)) {
      refuse_undefined(given);
      runtime_.fail(std::string("%") + spec.type + " format: a number is required, not " + type_name(given));
    }
    if (!hexadecimal) spec.type = 'd';
    const int64_t number = whole ? *whole : truncated(runtime_, *given.as_number());
    if (spec.precision > 0) runtime_.outside("a precision for whole numbers in a format");
    spec.precision = -1;
    return formatted(runtime_, Value(number), spec);
  }

  std::string number(const Value& given, FormatSpec spec) {
    if (!given.as_number()) {
      refuse_undefined(given);
      runtime_.fail("must be real number, not " + type_name(given));
    }
    return formatted(runtime_, Value(*given.as_number()), spec);
  }

  std::string character(const Value& given, FormatSpec spec) {
    std::string made;
    if (const auto code = given.as_integer()) {
      if (*code < 0 || *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000))
        runtime_.fail("%c arg not in range(0x110000)");
      tokenizer::unicode::append(static_cast<char32_t>(*code), made);
    } else if (const Text* text = given.as_text(); text != nullptr && text->length == 1) {
      made = text->bytes;
    } else {
      runtime_.fail("%c requires int or char");
    }
    spec.type = 0, spec.precision = -1, spec.sign = '-', spec.fill = ' ';
    if (spec.align == '=') spec.align = '>';
    return formatted(runtime_, runtime_.text(made), spec);
  }

  void refuse_undefined(const Value& given) {
    if (const auto* undefined = given.get<Undefined>()) runtime_.fail(reason_of(*undefined));
  }

  Runtime& runtime_;
  std::string_view rest_;
  const Value& values_;
  const Sequence* tuple_;
  size_t used_ = 0;
  bool by_name_ = false;
};

}  // namespace

Value percent_formatted(Runtime& runtime, const Text& format, const Value& values) {
  if (format.escaped) runtime.outside("formatting a text that is marked as safe");
  return runtime.text(PercentFormat(runtime, format.bytes, values).run());
}

}  // namespace hftrain::chat

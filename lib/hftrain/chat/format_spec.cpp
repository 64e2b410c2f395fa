#include <charconv>
#include <cmath>
#include <cstdio>

#include "hftrain/base/python_number.h"
#include "hftrain/chat/format.h"
#include "hftrain/chat/printing.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

namespace unicode = tokenizer::unicode;

constexpr int64_t kMostPlaces = 200;  // behind the point

bool is_align(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

int64_t read_count(Runtime& runtime, std::string_view& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) runtime.fail("Too many decimal digits in format string");
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

void read_alignment(std::string_view& text, FormatSpec& spec) {
  const size_t first = text.empty() ? 0 : unicode::size_of(text[0]);
  if (text.size() > first && is_align(text[first])) {
    spec.fill = unicode::decode(text.data());
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// 1234567 as 1,234,567; in groups of four for the other bases.
std::string grouped(const std::string& digits, char separator, size_t group) {
  const size_t whole = std::min(digits.find_first_of(".e"), digits.size());
  std::string made;
  for (size_t i = 0; i < whole; ++i) {
    if (i != 0 && (whole - i) % group == 0) made += separator;
    made += digits[i];
  }
  return made + digits.substr(whole);
}

std::string sign_for(bool negative, char sign) {
  return negative ? "-" : sign == '-' ? "" : std::string(1, sign);
}

// Zeros between the sign and the digits count into groups.
std::string with_width(Runtime& runtime, const std::string& sign, std::string digits, const FormatSpec& spec,
                       size_t group) {
  if (spec.align == '=' && spec.fill == '0' && spec.grouping != 0) {
    runtime.expect(static_cast<uint64_t>(spec.width), 2);
    while (static_cast<int64_t>(sign.size() + grouped(digits, spec.grouping, group).size()) < spec.width) {
      runtime.step();
      digits.insert(0, 1, '0');
    }
  }
  if (spec.grouping != 0) digits = grouped(digits, spec.grouping, group);
  if (spec.align != '=') return padded(runtime, sign + digits, spec);
  FormatSpec rest = spec;
  rest.align = '>';
  rest.width -= static_cast<int64_t>(sign.size());
  return sign + padded(runtime, digits, rest);
}

std::string prefix_of(const FormatSpec& spec) {
  return spec.alternate && spec.type != 'd' && spec.type != 0 ? std::string("0") + spec.type : "";
}

std::string of_integer(Runtime& runtime, int64_t value, const FormatSpec& spec) {
  if (spec.precision >= 0) runtime.fail("Precision not allowed in integer format specifier");
  const size_t group = spec.type == 0 || spec.type == 'd' || spec.type == 'n' ? 3 : 4;
  if (spec.grouping == ',' && group == 4)
    runtime.fail(std::string("Cannot specify ',' with '") + spec.type + "'.");
  return with_width(runtime, sign_for(value < 0, spec.sign) + prefix_of(spec), digits_of(value, spec.type),
                    spec, group);
}

std::string of_float(Runtime& runtime, double value, const FormatSpec& spec) {
  if (spec.precision > kMostPlaces) runtime.outside("more than 200 places behind the point");
  const bool negative = std::signbit(value) && !std::isnan(value);
  std::string digits = digits_of(std::abs(value), spec.type, spec.precision, spec.alternate);
  const std::string percent = spec.type == '%' ? "%" : "";
  return with_width(runtime, sign_for(negative, spec.sign), digits + percent, spec, 3);
}

std::string of_text(Runtime& runtime, const Value& value, FormatSpec spec) {
  if (spec.type != 0 && spec.type != 's') {
    runtime.fail(std::string("Unknown format code '") + spec.type + "' for object of type '" +
                 type_name(value) + "'");
  }
  if (spec.align == '=' || spec.grouping != 0 || spec.sign != '-' || spec.alternate) {
    runtime.fail("a text is formatted with what is for numbers");
  }
  const Value text = runtime.text(printed(runtime, value));
  std::string shown = text.as_text()->bytes;
  if (spec.precision >= 0 && spec.precision < text.as_text()->length) {
    size_t end = 0;
    for (int64_t i = 0; i < spec.precision; ++i) end += unicode::size_of(shown[end]);
    shown.resize(end);
  }
  return padded(runtime, shown, spec);
}

}  // namespace

std::string digits_of(int64_t value, char type) {
  const int base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  const auto magnitude =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  char buffer[72];
  std::string digits(buffer, std::to_chars(buffer, buffer + sizeof buffer, magnitude, base).ptr);
  if (type == 'X') {
    for (char& c : digits) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return digits;
}

std::string digits_of(double value, char type, int64_t precision, bool alternate) {
  const bool upper = type == 'E' || type == 'F' || type == 'G';
  if (!std::isfinite(value)) return std::isnan(value) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf");
  if (type == 0 && precision < 0) return python_repr(value);
  if (type == '%') return digits_of(value * 100, 'f', precision, alternate);
  const int places = precision < 0 ? 6 : static_cast<int>(precision);
  const bool general = type == 0 || type == 'n';
  const std::string form = std::string("%") + (alternate ? "#" : "") + ".*" + (general ? 'g' : type);
  char buffer[700];
  std::snprintf(buffer, sizeof buffer, form.c_str(), places, value);
  std::string digits = buffer;
  // format(1.0, ".3") is 1.0 and format(100.0, ".3") is 1e+02.
  if (type == 0 && digits.find_first_of(".e") == digits.npos) {
    digits = static_cast<int>(digits.size()) >= places
                 ? digits_of(value, 'e', std::max(places - 1, 0), alternate)
                 : digits + ".0";
    if (const size_t mark = digits.find('e'); mark != digits.npos && digits.find('.') != digits.npos) {
      const size_t last = digits.find_last_not_of('0', mark - 1);
      digits.erase(digits[last] == '.' ? last : last + 1, mark - (digits[last] == '.' ? last : last + 1));
    }
  }
  return digits;
}

std::string padded(Runtime& runtime, const std::string& text, const FormatSpec& spec) {
  const auto length = static_cast<int64_t>(unicode::count(text));
  if (spec.width <= length) return text;
  const auto missing = static_cast<uint64_t>(spec.width - length);
  runtime.expect(missing, 4);
  std::string fill;
  unicode::append(spec.fill, fill);
  const uint64_t left = spec.align == '>' ? missing : spec.align == '^' ? missing / 2 : 0;
  std::string made;
  for (uint64_t i = 0; i < left; ++i) made += fill;
  made += text;
  for (uint64_t i = left; i < missing; ++i) made += fill;
  return made;
}

FormatSpec read_format_spec(Runtime& runtime, std::string_view text) {
  FormatSpec spec;
  const std::string whole(text);
  read_alignment(text, spec);
  if (!text.empty() && (text[0] == '+' || text[0] == '-' || text[0] == ' ')) {
    spec.sign = text[0];
    text.remove_prefix(1);
  }
  spec.alternate = take(text, '#');
  if (take(text, '0') && spec.align == 0) spec.fill = '0', spec.align = '=';
  spec.width = read_count(runtime, text);
  if (!text.empty() && (text[0] == ',' || text[0] == '_')) {
    spec.grouping = text[0];
    text.remove_prefix(1);
  }
  if (take(text, '.')) {
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) == 0) {
      runtime.fail("Format specifier missing precision");
    }
    spec.precision = read_count(runtime, text);
  }
  if (!text.empty()) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty()) runtime.fail("Invalid format specifier '" + whole + "'");
  return spec;
}

std::string formatted(Runtime& runtime, const Value& value, FormatSpec spec) {
  constexpr std::string_view kOfIntegers = "dxXobn", kOfFloats = "eEfFgGn%";
  const auto integer = value.as_integer();
  const bool plain_boolean = value.is<bool>() && spec.type == 0;
  if (!value.as_number() || plain_boolean) {
    if (spec.align == '=' && spec.fill == '0') spec.align = '<';  // 0 before a width
    if (spec.align == 0) spec.align = '<';
    return of_text(runtime, value, spec);
  }
  if (spec.align == 0) spec.align = '>';
  if (integer && (spec.type == 0 || kOfIntegers.find(spec.type) != kOfIntegers.npos)) {
    return of_integer(runtime, *integer, spec);
  }
  if (spec.type == 0 || kOfFloats.find(spec.type) != kOfFloats.npos) {
    return of_float(runtime, *value.as_number(), spec);
  }
  runtime.fail(std::string("Unknown format code '") + spec.type + "' for object of type '" +
               type_name(value) + "'");
}

}  // namespace hftrain::chat

#include "hftrain/reporting/python_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "hftrain/base/text.h"

namespace hftrain::reporting {
namespace {

// `digits` with the decimal point after the first `point` of them, padded with zeros where needed.
std::string plain_decimal(const std::string& digits, int point) {
  if (point <= 0) return "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  const auto whole = static_cast<size_t>(point);
  if (digits.size() <= whole) return digits + std::string(whole - digits.size(), '0') + ".0";
  return digits.substr(0, whole) + '.' + digits.substr(whole);
}

std::string scientific(const std::string& digits, int exponent) {
  std::string text = digits.substr(0, 1);
  if (digits.size() > 1) text += '.' + digits.substr(1);
  char tail[16];
  std::snprintf(tail, sizeof tail, "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
  return text + tail;
}

std::string python_quoted(const std::string& text) {
  // Python prefers single quotes unless only they occur inside.
  const bool use_double = text.find('\'') != std::string::npos && text.find('"') == std::string::npos;
  const char quote = use_double ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    char escape[8];
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      std::snprintf(escape, sizeof escape, "\\x%02x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + quote;
}

std::string json_scalar(const Json& value) {
  if (!value.is_number_float())
    return value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  const double number = value.get<double>();
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return python_repr(number);
}

void append_json(const Json& value, int indent, int depth, std::string& out) {
  if (!value.is_structured()) {
    out += json_scalar(value);
    return;
  }
  const char* brackets = value.is_object() ? "{}" : "[]";
  const auto new_line = [&](int level) {
    if (indent >= 0) out += '\n' + std::string(static_cast<size_t>(indent * level), ' ');
  };
  out += brackets[0];
  bool first = true;
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (!first) out += indent < 0 ? ", " : ",";
    first = false;
    new_line(depth + 1);
    if (value.is_object()) out += json_scalar(Json(item.key())) + ": ";
    append_json(*item, indent, depth + 1, out);
  }
  if (!first) new_line(depth);
  out += brackets[1];
}

}  // namespace

std::string python_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, std::abs(value), std::chars_format::scientific).ptr;
  const std::string text(buffer, end);
  const size_t mark = text.find('e');
  const int exponent = std::atoi(text.c_str() + mark + 1);
  std::string digits = text.substr(0, 1);
  if (mark > 1) digits += text.substr(2, mark - 2);
  const std::string sign = std::signbit(value) ? "-" : "";
  if (exponent < -4 || exponent >= 16) return sign + scientific(digits, exponent);
  return sign + plain_decimal(digits, exponent + 1);
}

std::string python_general(double value, int digits) {
  if (std::isnan(value)) return "nan";  // printf may say -nan
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
  return buffer;
}

double python_round(double value, int decimals) {
  if (!std::isfinite(value)) return value;
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
  return std::strtod(buffer, nullptr);
}

size_t python_len(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string python_repr(const Json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_string()) return python_quoted(value.get_ref<const std::string&>());
  if (value.is_number_float()) return python_repr(value.get<double>());
  if (!value.is_structured()) return value.dump();
  std::vector<std::string> parts;
  for (auto item = value.begin(); item != value.end(); ++item) {
    parts.push_back(value.is_object() ? python_quoted(item.key()) + ": " + python_repr(*item)
                                      : python_repr(*item));
  }
  return value.is_object() ? '{' + join(parts, ", ") + '}' : '[' + join(parts, ", ") + ']';
}

std::string python_json(const Json& value, int indent) {
  std::string out;
  append_json(value, indent, 0, out);
  return out;
}

}  // namespace hftrain::reporting

#include "hftrain/reporting/python_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "hftrain/base/python_number.h"
#include "hftrain/base/text.h"

namespace hftrain::reporting {
namespace {

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
  return hftrain::python_repr(value);
}

double python_round(double value, int decimals) {
  return hftrain::python_round(value, decimals);
}

std::string python_general(double value, int digits) {
  if (std::isnan(value)) return "nan";  // printf may say -nan
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
  return buffer;
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

#include "hftrain/base/json.h"

#include <cmath>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain {
namespace {

std::string place(std::string_view text, size_t byte, const std::string& origin) {
  size_t line = 1, column = 1;
  for (size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return origin + ':' + std::to_string(line) + ':' + std::to_string(column);
}

void dump_string(const std::string& text, std::string& out) {
  out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void dump_scalar(const Json& value, std::string& out) {
  if (value.is_string()) return dump_string(value.get_ref<const std::string&>(), out);
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const double number = value.get<double>();
    out += std::isnan(number) ? "NaN" : (number > 0 ? "Infinity" : "-Infinity");
    return;
  }
  out += value.dump();
}

void dump_into(const Json& value, int indent, int depth, std::string& out) {
  const auto new_line = [&](int level) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<size_t>(indent) * level, ' ');
  };
  if (!value.is_structured()) return dump_scalar(value, out);
  const char* brackets = value.is_object() ? "{}" : "[]";
  out += brackets[0];
  bool first = true;
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (!first) out += indent < 0 ? ", " : ",";
    first = false;
    new_line(depth + 1);
    if (value.is_object()) {
      dump_string(item.key(), out);
      out += ": ";
    }
    dump_into(*item, indent, depth + 1, out);
  }
  if (!first) new_line(depth);
  out += brackets[1];
}

}  // namespace

Json parse_json(std::string_view text, const std::string& origin, int error_code) {
  try {
    return Json::parse(text.begin(), text.end(), nullptr, true, /*ignore_comments=*/true);
  } catch (const Json::parse_error& error) {
    throw Error(static_cast<ExitCode>(error_code), "not valid JSON")
        .where(place(text, error.byte, origin))
        .why(error.what());
  }
}

Json read_json_file(const std::string& path, int error_code) {
  return parse_json(read_file(path, static_cast<ExitCode>(error_code)), path, error_code);
}

std::string dump_json(const Json& value, int indent) {
  std::string out;
  dump_into(value, indent, 0, out);
  return out;
}

}  // namespace hftrain

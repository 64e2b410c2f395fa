#include "hftrain/base/json.h"

#include <array>
#include <cmath>
#include <limits>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json_words.h"

template class nlohmann::basic_json<>;

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

// Where the text has one bracket too many, counted from 1; 0 when it nowhere is too deep. Looks at strings
// and comments only to pass over them: whether the rest is JSON is the parser's question.
size_t too_deep_at(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '[':
      case '{':
        if (++depth > kDeepestJson) return i + 1;
        break;
      case ']':
      case '}':
        --depth;
        break;
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i) {
          if (text[i] == '\\') ++i;
        }
        break;
      case '/': {
        const bool line = text.substr(i, 2) == "//";
        if (!line && text.substr(i, 2) != "/*") break;
        const size_t end = line ? text.find('\n', i) : text.find("*/", i + 2);
        i = end == std::string_view::npos ? text.size() : end + (line ? 0 : 1);
        break;
      }
      default:
        break;
    }
  }
  return 0;
}

constexpr std::array<std::pair<std::string_view, double>, 3> kNotFinite = {
    {{"NaN", std::numeric_limits<double>::quiet_NaN()},
     {"-Infinity", -std::numeric_limits<double>::infinity()},
     {"Infinity", std::numeric_limits<double>::infinity()}}};
constexpr std::string_view kMark = "\x01not finite: ";  // before the number's name, in a string of its own

// The text with the three words that Python writes, and no JSON parser knows, as marked strings.
std::string with_marks(std::string_view text) {
  std::string marked;
  for (size_t i = 0; i < text.size();) {
    size_t length = 1;
    if (text[i] == '"') {
      while (i + length < text.size() && text[i + length] != '"') length += text[i + length] == '\\' ? 2 : 1;
      ++length;
    }
    std::string_view name;
    for (const auto& [word, number] : kNotFinite) {
      if (text.substr(i, word.size()) == word) name = word;
    }
    marked += name.empty() ? std::string(text.substr(i, length))
                           : Json(std::string(kMark) + std::string(name)).dump();
    i += name.empty() ? length : name.size();
  }
  return marked;
}

void take_marks_off(Json& value) {
  if (value.is_structured()) {
    for (Json& item : value) take_marks_off(item);
  } else if (value.is_string() && value.get_ref<const std::string&>().starts_with(kMark)) {
    const std::string name = value.get<std::string>().substr(kMark.size());
    for (const auto& [word, number] : kNotFinite) {
      if (name == word) value = number;
    }
  }
}

std::optional<Json> parse_with_marks(std::string_view text, bool ignore_comments) {
  if (text.find("NaN") == text.npos && text.find("Infinity") == text.npos) return std::nullopt;
  const std::string marked = with_marks(text);
  Json json = Json::parse(marked, nullptr, /*allow_exceptions=*/false, ignore_comments);
  if (json.is_discarded()) return std::nullopt;
  take_marks_off(json);
  return json;
}

constexpr const char* kCorrectIt =
    "correct it there; a file that nobody has edited is damaged: copy it again from where it came from";

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
  if (const size_t byte = too_deep_at(text)) {
    throw Error(static_cast<ExitCode>(error_code), "this JSON is nested too deep")
        .where(place(text, byte, origin))
        .why("arrays and objects stand in each other more than " + std::to_string(kDeepestJson) + " deep")
        .hint("no file of these formats needs that: look whether it is damaged or made to harm");
  }
  try {
    return Json::parse(text.begin(), text.end(), nullptr, true, /*ignore_comments=*/true);
  } catch (const Json::parse_error& error) {
    if (std::optional<Json> json = parse_with_marks(text, /*ignore_comments=*/true)) return std::move(*json);
    throw Error(static_cast<ExitCode>(error_code), "not valid JSON")
        .where(place(text, error.byte, origin))
        .why(words_of(error))
        .hint(kCorrectIt);
  } catch (const Json::out_of_range& error) {  // a number that no double holds: the parser does not say where
    throw Error(static_cast<ExitCode>(error_code), "not valid JSON")
        .where(origin)
        .why(words_of(error))
        .hint(kCorrectIt);
  }
}

std::optional<Json> try_parse_json(std::string_view text) {
  if (too_deep_at(text) != 0) return std::nullopt;
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  // It may have written numbers that are none, as dump_json() does.
  if (json.is_discarded()) return parse_with_marks(text, /*ignore_comments=*/false);
  return json;
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

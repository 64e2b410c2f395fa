#include "hftrain/arguments/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <regex>
#include <set>

#include "hftrain/arguments/task_words.h"
#include "hftrain/base/expanded_path.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

constexpr std::array kTrueWords = {"true", "yes", "t", "y", "1"};
constexpr std::array kFalseWords = {"false", "no", "f", "n", "0"};

std::string shown(const Json& written) {
  return written.is_string() ? '\'' + written.get<std::string>() + '\'' : written.dump();
}

ValueError not_a(const Json& written, std::string_view expected, std::string hint = "") {
  return {fmt::format("{} is not {}", shown(written), expected), std::move(hint), ""};
}

std::optional<bool> as_bool(const Json& written) {
  if (written.is_boolean()) return written.get<bool>();
  const std::string word = to_lower(written.is_string() ? written.get<std::string>() : written.dump());
  if (std::find(kTrueWords.begin(), kTrueWords.end(), word) != kTrueWords.end()) return true;
  if (std::find(kFalseWords.begin(), kFalseWords.end(), word) != kFalseWords.end()) return false;
  return std::nullopt;
}

template <typename Number>
std::optional<Number> as_number(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  if (text.empty() || text.front() == '+') return std::nullopt;
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<Json> to_bool(const Json& written) {
  if (const auto value = as_bool(written)) return Json(*value);
  return not_a(written, "a truth value", "true, yes, t, y, 1 or false, no, f, n, 0");
}

Result<Json> in_range(Json value, const Json& written, const Range& range, std::string_view kind) {
  if (range.contains(value.get<double>())) return value;
  return not_a(written, fmt::format("{} {}", kind, describe(range)));
}

Result<Json> to_int(const Json& written, const Range& range) {
  if (written.is_number_integer()) return in_range(written.get<int64_t>(), written, range, "a whole number");
  if (written.is_string()) {
    const auto value = as_number<int64_t>(trim(written.get<std::string>()));
    if (value) return in_range(*value, written, range, "a whole number");
  }
  return not_a(written, "a whole number", range.limits() ? "a whole number " + describe(range) : "");
}

Result<Json> to_float(const Json& written, const Range& range) {
  std::optional<double> value;
  if (written.is_number()) value = written.get<double>();
  if (written.is_string()) value = as_number<double>(trim(written.get<std::string>()));
  if (!value) return not_a(written, "a number");
  if (!std::isfinite(*value)) return not_a(written, "a finite number");
  return in_range(*value, written, range, "a number");
}

Result<Json> to_text(const Json& written) {
  if (written.is_string()) return written;
  if (written.is_structured()) return not_a(written, "one text");
  return Json(written.dump());
}

std::vector<std::string> words(const std::vector<Choice>& choices) {
  std::vector<std::string> result;
  for (const Choice& choice : choices) result.emplace_back(choice.word);
  return result;
}

// YAML 1.1 makes false of a bare `no` and true of `yes`; flags that have the word get it back. Words for a truth value count
// where a flag takes one beside its own.
Json word_for_bool(const Flag& flag, const Json& written) {
  const std::optional<bool> truth = written.is_structured() ? std::nullopt : as_bool(written);
  if (!truth || (written.is_string() && flag.choice(written.get<std::string>()) != nullptr)) return written;
  const bool all = flag.choice("all") != nullptr && flag.slot.type == Type::kText;
  if (!written.is_boolean() && !all && flag.choice("true") == nullptr) return written;
  const bool both = all && flag.choice("no") != nullptr;  // as a truth value, by all of its words
  const bool numeric = !both && !written.is_boolean() &&
                       as_number<double>(written.is_string() ? written.get<std::string>() : written.dump());
  if (!numeric && !*truth && flag.choice("no") != nullptr) return "no";
  const bool none = flag.slot.type == Type::kList && flag.choice("none") != nullptr;
  if (written.is_boolean() && !*truth && none) return "none";
  if (!numeric && *truth && all) return "all";
  const char* word = *truth ? "true" : "false";
  if (flag.choice(word) != nullptr) return word;
  return written;
}

Result<Json> to_choice(const Flag& flag, const Json& written) {
  Result<Json> text = to_text(word_for_bool(flag, written));
  if (std::holds_alternative<ValueError>(text)) return text;
  const std::string word = std::get<Json>(text).get<std::string>();
  if (const Choice* choice = flag.choice(word)) return Json(std::string(choice->word));
  const bool is_task = flag.name == "task";
  if (is_task && !task_in(word).empty()) return text;
  const std::vector<std::string> all = words(flag.choices);
  std::string hint =
      is_task ? hint_for_task(word, all) : did_you_mean(nearest_names(to_lower(word), all), "");
  return not_a(written, "one of " + join(all, ", "), std::move(hint));
}

std::vector<std::string> elements(const Flag& flag, const std::string& text) {
  if (!flag.commas) return {text};
  std::string separated = text;
  std::replace(separated.begin(), separated.end(), ',', ' ');
  return split_words(separated);
}

Result<Json> to_list(const Flag& flag, const Json& written, const std::string& home) {
  Json list = Json::array();
  const Json items = written.is_array() ? written : Json::array({written});
  for (const Json& item : items) {
    Result<Json> text = to_text(word_for_bool(flag, item));
    if (std::holds_alternative<ValueError>(text)) return text;
    for (const std::string& element : elements(flag, std::get<Json>(text).get<std::string>())) {
      if (flag.is_choice()) {
        Result<Json> word = to_choice(flag, element);
        if (std::holds_alternative<ValueError>(word)) return word;
        list.push_back(std::get<Json>(word));
        continue;
      }
      list.push_back(flag.path ? with_home(element, home) : element);
    }
  }
  for (const char* nothing : {"none", "false"}) {
    const bool said = flag.choice(nothing) != nullptr && std::ranges::count(list, nothing) > 0;
    if (said && list.size() > 1)
      return ValueError{fmt::format("'{}' stands alone, not beside other words", nothing), "", ""};
    if (said && nothing == std::string_view("none")) return Json::array();
  }
  return list;
}

// Of a text with commas that a file has as a list.
Json joined(const Json& written) {
  if (!written.is_array()) return written;
  std::vector<std::string> parts;
  for (const Json& part : written) {
    if (part.is_structured()) return written;
    parts.push_back(part.is_string() ? part.get<std::string>() : part.dump());
  }
  return join(parts, ",");
}

// The first key that a mapping in the text has twice; empty: there is none.
std::string key_given_twice(const std::string& text) {
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto look = [&](int, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event != Json::parse_event_t::key) return true;
    const std::string key = parsed.get<std::string>();
    if (!keys.back().insert(key).second && twice.empty()) twice = key;
    return true;
  };
  const Json whole = Json::parse(text, look, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  return whole.is_discarded() ? "" : twice;
}

Result<Json> mapping_text(const Json& written) {
  if (!written.is_string()) return written;
  const std::string text = trim(written.get<std::string>());
  const bool is_text = text.starts_with('{');
  try {
    Json mapping = is_text ? parse_json(text, "the text", 2) : read_json_file(text, 2);
    const std::string twice = key_given_twice(is_text ? text : read_file(text));
    if (!twice.empty())
      return ValueError{"key '" + twice + "' is given twice" + (is_text ? "" : " in " + text),
                        "keep one of the two", ""};
    return mapping;
  } catch (const Error& error) {
    const Diagnostic& first = error.diagnostics().front();
    return ValueError{
        is_text ? "the text is not valid JSON (" + first.why + ')'
                : first.what + ' ' + first.where + (first.why.empty() ? "" : " (" + first.why + ')'),
        is_text ? "" : "JSON text that starts with {, or the name of a JSON file", ""};
  }
}

// Python counts with 2.0 as with 2.
Json as_whole(const Json& written) {
  constexpr double kExact = 9007199254740992;  // all whole numbers up to it are doubles
  if (!written.is_number_float()) return written;
  const auto value = written.get<double>();
  return std::trunc(value) == value && std::abs(value) <= kExact ? Json(static_cast<int64_t>(value))
                                                                 : written;
}

Result<Json> key_value(const Key& key, const Json& written, const std::string& pointer) {
  if (written.is_null() && (key.optional || key.type == Type::kMapping)) return written;
  if (key.type == Type::kMapping) return convert_mapping(key.keys, written, pointer);
  if (key.type == Type::kBool) return to_bool(written);
  if (key.type == Type::kInt) return to_int(as_whole(written), key.range);
  if (key.type == Type::kFloat) return to_float(written, key.range);
  Result<Json> text = to_text(written);
  if (key.words.empty() || std::holds_alternative<ValueError>(text)) return text;
  const std::string word = std::get<Json>(text).get<std::string>();
  if (std::find(key.words.begin(), key.words.end(), word) != key.words.end()) return text;
  return not_a(written, "one of " + join({key.words.begin(), key.words.end()}, ", "));
}

Json empty_value(const Flag& flag) {
  return flag.slot.type == Type::kList && !flag.slot.optional ? Json::array() : Json(nullptr);
}

// Words for "unset" where they cannot be meant literally.
bool means_unset(const Flag& flag, const Json& written) {
  if (written.is_null()) return true;
  const bool can_be_unset = flag.slot.optional || !flag.null_is.empty();
  if (!can_be_unset || !written.is_string() || flag.slot.type == Type::kList) return false;
  if (flag.slot.type == Type::kText && !flag.is_choice()) return false;
  const std::string word = written.get<std::string>();
  return (word == "null" || word == "None") && flag.choice(word) == nullptr;
}

// Whether YAML, of any version, could read the text as something else.
bool needs_quotes(const std::string& text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return true;
  const std::string lower = to_lower(text);
  if (as_bool(text) || lower == "on" || lower == "off") return true;
  if (as_number<double>(text) || text == "null" || text == "~" || text == "Null" || text == "NULL")
    return true;
  if (std::string_view("-?:,[]{}#&*!|>'\"%@`=<~.+0123456789").find(text.front()) != std::string_view::npos) {
    const bool path = text.front() == '.' || std::isdigit(static_cast<unsigned char>(text.front()));
    if (!path) return true;
  }
  if (text.find_first_of(",[]{}\"\\") != std::string::npos || text.find(": ") != std::string::npos)
    return true;
  if (text.find(" #") != std::string::npos || text.back() == ':') return true;
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; });
}

// Text without quotes that YAML 1.1 takes for a number in base 60, 16, 8 or 2, one with underscores, or a date.
bool is_more_in_yaml_1_1(const std::string& text) {
  constexpr size_t kLongest = 64;  // the library's expressions call themselves for each character
  if (text.size() > kLongest)
    return std::string_view("+-.0123456789").find(text.front()) != std::string_view::npos;
  static const std::regex kMore(
      "[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+([.][0-9_]*)?|[-+]?0x[0-9a-fA-F_]+|[-+]?0b[01_]+|[-+]?[0-9][0-9_]*([.]"
      "[0-9_]*)?([eE][-+][0-9]+)?|"
      "[-+]?[.](inf|Inf|INF)|[.][0-9][0-9_]*([eE][-+][0-9]+)?|[.](nan|NaN|NAN)|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
      "([Tt \\t].*)?");
  return std::regex_match(text, kMore);
}

// Quoted text in which YAML 1.1 would fold U+0085, U+2028 and U+2029 as it folds the end of a line.
std::string without_line_breaks(std::string quoted) {
  for (const auto& [raw, escape] :
       {std::pair("\xc2\x85", "\\u0085"), {"\xe2\x80\xa8", "\\u2028"}, {"\xe2\x80\xa9", "\\u2029"}}) {
    for (size_t at = quoted.find(raw); at != std::string::npos; at = quoted.find(raw, at))
      quoted.replace(at, std::string_view(raw).size(), escape);
  }
  return quoted;
}

enum class Reader { kPerson, kYaml11 };

std::string written(const Json& value, Reader reader) {
  const bool older = reader == Reader::kYaml11;
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return needs_quotes(text) || (older && is_more_in_yaml_1_1(text))
               ? without_line_breaks(value.dump(-1, ' ', false, Json::error_handler_t::replace))
               : text;
  }
  if (!value.is_structured()) {
    std::string text = value.dump();  // 5e-05 is text in YAML 1.1
    const size_t exponent = text.find('e');
    const bool dotted = text.find('.') != std::string::npos;
    if (older && value.is_number_float() && exponent != std::string::npos && !dotted)
      text.insert(exponent, ".0");
    return text;
  }
  std::string text;
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (!text.empty()) text += ", ";
    if (value.is_object()) text += written(item.key(), reader) + ": ";
    text += written(*item, reader);
  }
  return value.is_object() ? '{' + text + '}' : '[' + text + ']';
}

// What import/ will read: a mapping, its JSON text, or the name of its file.
Result<Json> as_written(const Flag& flag, const Json& written, const std::string& home) {
  if (!written.is_string()) return written.is_object() ? Result<Json>(written) : not_a(written, "a mapping");
  const std::string text = trim(written.get<std::string>());
  if (text.empty()) return Json(nullptr);  // of a script's unset variable: not given
  return Json(flag.path ? with_home(text, home) : text);
}

}  // namespace

std::string file_of_mapping(const Json& written) {
  const std::string text = written.is_string() ? trim(written.get<std::string>()) : "";
  return text.starts_with('{') ? "" : text;
}

std::string to_yaml(const Json& value) {
  return written(value, Reader::kPerson);
}

std::string to_yaml_of_file(const Json& value) {
  return written(value, Reader::kYaml11);
}

Result<Json> convert_mapping(std::span<const Key> keys, const Json& written, const std::string& pointer) {
  if (!written.is_object()) return not_a(written, "a mapping");
  Json mapping = Json::object();
  for (const auto& [name, value] : written.items()) {
    if (!name.empty() && name.front() == '_') continue;
    const auto key =
        std::find_if(keys.begin(), keys.end(), [&name = name](const Key& each) { return each.name == name; });
    if (key == keys.end()) {
      std::vector<std::string> known;
      for (const Key& each : keys) known.emplace_back(each.name);
      std::string hint = did_you_mean(nearest_names(name, known));
      if (hint.empty()) hint = known.empty() ? "leave it out" : "the keys are " + join(known, ", ");
      return ValueError{"unknown key '" + name + '\'', std::move(hint), pointer + '/' + name};
    }
    Result<Json> converted = key_value(*key, value, pointer + '/' + name);
    if (auto* error = std::get_if<ValueError>(&converted)) {
      if (error->pointer.empty()) error->what = "key '" + name + "': " + error->what;
      if (error->pointer.empty()) error->pointer = pointer + '/' + name;
      return converted;
    }
    mapping[name] = std::get<Json>(std::move(converted));
  }
  return mapping;
}

Result<Json> convert(const Flag& flag, const Json& written, const std::string& home) {
  if (means_unset(flag, written)) {
    if (flag.slot.optional || flag.slot.type == Type::kList) return empty_value(flag);
    if (flag.null_is.empty()) return ValueError{"cannot be unset", "leave it out to get its default", ""};
    return convert(flag, std::string(flag.null_is), home);
  }
  if (flag.is_choice() && flag.slot.type != Type::kList) return to_choice(flag, written);
  switch (flag.slot.type) {
    case Type::kBool:
      return to_bool(written);
    case Type::kInt:
      return to_int(flag.imported ? undisguised(written) : written, flag.range);
    case Type::kFloat:
      return to_float(written, flag.range);
    case Type::kList:
      return to_list(flag, written, home);
    case Type::kMapping: {
      if (flag.imported) return as_written(flag, written, home);
      Result<Json> mapping = mapping_text(written);
      if (std::holds_alternative<ValueError>(mapping)) return mapping;
      if (!std::get<Json>(mapping).is_object()) return not_a(written, "a mapping");
      return flag.keys.empty() ? mapping : convert_mapping(flag.keys, std::get<Json>(mapping));
    }
    case Type::kText:
      break;
  }
  Result<Json> text = to_text(flag.commas ? joined(written) : written);
  if (Json* value = std::get_if<Json>(&text); value != nullptr && flag.path) {
    return Json(with_home(value->get<std::string>(), home));
  }
  return text;
}

Json truth_of_launchers(Json written) {
  const std::string word = written.is_string() ? to_lower(written.get<std::string>()) : "";
  if (word == "on" || word == "off") return word == "on";
  return written;
}

std::optional<bool> truth_of(const Json& written) {
  return as_bool(truth_of_launchers(written));
}

Json undisguised(const Json& written) {
  constexpr double kLargest = 9e18;
  if (!written.is_string()) return as_whole(written);
  const std::string text = trim(written.get<std::string>());
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size() &&
                     number == std::floor(number) && std::abs(number) < kLargest;
  return whole && text.find_first_of(".eE") != std::string::npos ? Json(static_cast<int64_t>(number))
                                                                 : written;
}

std::string plain_number(const std::string& text) {
  const auto is_digit = [&](size_t at) {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool separates = text[at] == '_' && at > 0 && is_digit(at - 1) && is_digit(at + 1);
    if (!separates) plain += text[at];
  }
  return as_number<double>(trim(plain)) ? plain : text;
}

Json with_plain_numbers(const Flag& flag, Json written) {
  const bool number = flag.slot.type == Type::kInt || flag.slot.type == Type::kFloat;
  return number && written.is_string() ? Json(plain_number(written.get_ref<const std::string&>())) : written;
}

Json neutral_value(Type type, std::string_view text) {
  const Json written = std::string(text);
  switch (type) {
    case Type::kBool:
      return std::get<Json>(to_bool(written));
    case Type::kInt:
      return std::get<Json>(to_int(written, {}));
    case Type::kFloat:
      return std::get<Json>(to_float(written, {}));
    case Type::kList:
      return text.empty() ? Json::array() : Json::array({written});
    case Type::kMapping:
      return nullptr;
    case Type::kText:
      break;
  }
  return written;
}

}  // namespace hftrain::arguments

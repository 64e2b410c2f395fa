#include "hftrain/arguments/yaml_values.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "hftrain/arguments/json_text.h"
#include "hftrain/arguments/yaml_documents.h"
#include "hftrain/base/printable.h"

namespace hftrain::arguments {
namespace {

constexpr int kDeepest = 32;       // levels of a configuration
constexpr int kLargest = 100'000;  // values, aliases followed
constexpr const char* kNull = "tag:yaml.org,2002:null";

// line:column
std::string position(const YAML::Mark& mark) {
  return std::to_string(mark.line + 1) + ':' + std::to_string(mark.column + 1);
}

YAML::Mark mark_at(const std::string& text, size_t place) {
  YAML::Mark mark;
  mark.line =
      static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
  const size_t line = place == 0 ? std::string::npos : text.rfind('\n', place - 1);
  mark.column = static_cast<int>(place - (line == std::string::npos ? 0 : line + 1));
  mark.pos = static_cast<int>(place);
  return mark;
}

}  // namespace

bool YamlValues::is_readable(const std::string& text) {
  // YAML may be UTF-16 or UTF-32 too: it begins with a mark then, or with a character of which one byte is 0.
  const bool wide = text.starts_with("\xFE\xFF") || text.starts_with("\xFF\xFE") ||
                    text.substr(0, 4).find('\0') != std::string::npos;
  const std::optional<size_t> bad = wide ? std::nullopt : first_invalid_utf8(text);
  if (!bad) return true;
  problem("not UTF-8 text", place_at(mark_at(text, *bad)),
          "a byte there is " + printable(text.substr(*bad, 1)), "save the file as UTF-8");
  return false;
}

bool YamlValues::take_json(std::string& text) {
  std::optional<size_t> half;
  text = with_whole_characters(without_comments(std::move(text)), half);
  if (!half) return true;
  problem("not valid JSON", place_at(mark_at(text, *half)),
          "the escape there is half of a character, and the other half does not follow",
          "write the character itself, or both halves, as \\ud83d\\ude80");
  return false;
}

YAML::Node YamlValues::document(std::string text, bool json) {
  if (!is_readable(text)) return YAML::Node(YAML::NodeType::Undefined);
  if (json && !take_json(text)) return YAML::Node(YAML::NodeType::Undefined);
  try {
    const std::optional<YAML::Mark> second = second_document(text);
    if (!second) return YAML::Load(text);
    if (opens_document(text, *second)) {
      problem("more than one YAML document", place_at(*second), "", "one file for each");
    } else {
      problem(json ? "not valid JSON" : "not valid YAML", place_at(*second),
              "this cannot follow what stands before it", "see whether a bracket or a key is missing there");
    }
  } catch (const YAML::Exception& error) {
    problem(json ? "not valid JSON" : "not valid YAML", place_at(error.mark), error.msg,
            "see whether every bracket and quotation mark is closed there");
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

std::string YamlValues::text_of(const YAML::Node& scalar) {
  const std::string& text = scalar.Scalar();
  if (!first_invalid_utf8(text)) return text;
  const std::string shown = printable(text);
  problem("'" + shown + "' is not UTF-8 text", place_of(scalar),
          "an escape there stands for a byte, not for a character",
          "write the character itself, or its number as \\u00A0");
  return shown;
}

bool YamlValues::is_resolved(const YAML::Node& scalar) {
  const std::string& tag = scalar.Tag();
  constexpr std::array kTyped = {"tag:yaml.org,2002:bool", "tag:yaml.org,2002:int",
                                 "tag:yaml.org,2002:float"};
  if (tag == "?" || std::ranges::count(kTyped, tag) > 0) return true;
  const bool text = tag.empty() || tag == "!" || tag == "tag:yaml.org,2002:str" || tag == kNull;
  if (!text)
    problem("the tag " + printable(tag) + " is not read here", place_of(scalar),
            "values may be tagged as !!str, !!int, !!float, !!bool and !!null", "the value without its tag");
  return false;
}

void YamlValues::check_tag_of_parts(const YAML::Node& node) {
  const std::string& tag = node.Tag();
  constexpr std::array kParts = {"", "?", "!", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"};
  if (std::ranges::count(kParts, tag) == 0)
    problem("the tag " + printable(tag) + " is not read here", place_of(node),
            "lists and mappings are what they are without one", "the value without its tag");
}

Json YamlValues::value(const YAML::Node& node, const std::string& pointer,
                       std::map<std::string, std::string>& places, PlainParts& plain, int depth) {
  if (depth > kDeepest || ++values_ > kLargest) {
    if (!std::exchange(too_large_, true))  // the rest of it would be told of once for every level
      problem("the configuration is nested too deeply or refers to itself", place_of(node),
              "at most " + std::to_string(kDeepest) + " levels and " + std::to_string(kLargest) +
                  " values are read, aliases followed",
              "fewer values, or none that refer to those around them");
    return nullptr;
  }
  if (!name_.empty()) places[pointer] = place_of(node);
  if (node.IsSequence() || node.IsMap()) check_tag_of_parts(node);
  if (node.IsSequence()) {
    Json list = Json::array();
    for (size_t i = 0; i < node.size(); ++i) {
      list.push_back(value(node[i], pointer + '/' + std::to_string(i), places, plain, depth + 1));
    }
    return list;
  }
  if (node.IsScalar() && is_resolved(node)) plain.insert(pointer);
  if (!node.IsMap()) return node.IsScalar() && node.Tag() != kNull ? Json(text_of(node)) : Json(nullptr);
  Json mapping = Json::object();
  std::map<std::string, YAML::Mark> seen;
  for (const auto& item : node) {
    const std::string key = text_of(item.first);
    const auto [first, fresh] = seen.emplace(key, item.first.Mark());
    if (!fresh)
      problem("key '" + key + "' is given twice", place_of(item.first),
              first_of_two(first->second, item.first), "keep one of the two");
    mapping[key] = value(item.second, pointer + '/' + key, places, plain, depth + 1);
  }
  return mapping;
}

std::string YamlValues::place_at(const YAML::Mark& mark) const {
  return mark.is_null() || name_.empty() ? name_ : name_ + ':' + position(mark);
}

std::string YamlValues::first_of_two(const YAML::Mark& first, const YAML::Node& second) const {
  if (!name_.empty()) return "first at " + place_at(first);
  return "at " + position(first) + " and at " + position(second.Mark()) + " of the text (line:column)";
}

void YamlValues::problem(std::string what, std::string where, std::string why, std::string hint) {
  problems_.push_back(
      {.what = std::move(what), .where = std::move(where), .why = std::move(why), .hint = std::move(hint)});
}

}  // namespace hftrain::arguments

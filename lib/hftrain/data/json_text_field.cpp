#include "hftrain/data/json_text_field.h"

#include <simdjson.h>

namespace hftrain::data {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

const char* type_name(const element& value) {
  switch (value.type()) {
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "a boolean";
    case element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

std::string choose_field(const simdjson::dom::object& record) {
  if (record.at_key("text").error() == simdjson::SUCCESS) return "text";
  const auto first = record.begin();
  return first != record.end() ? std::string(first.key()) : std::string("text");
}

}  // namespace

ValueScanner::State ValueScanner::feed(std::string_view text, size_t& used) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      --depth_;
    } else {
      continue;
    }
    if (depth_ <= 0 && !in_string_) {
      used = i + 1;
      return State::kClosed;
    }
  }
  used = text.size();
  return State::kOpen;
}

std::string TextField::append(const element& record, std::string& text) {
  std::string_view value;
  if (record.get_string().get(value) == simdjson::SUCCESS) {
    text += value;
    return "";
  }
  simdjson::dom::object object;
  if (record.get_object().get(object) != simdjson::SUCCESS) {
    return std::string("a record must be an object with a text field, not ") + type_name(record);
  }
  if (!chosen_) {
    name_ = choose_field(object);
    chosen_ = true;
  }
  const auto field = object.at_key(name_);
  if (field.error() != simdjson::SUCCESS) return "the record has no field '" + name_ + "'";
  if (field.get_string().get(value) != simdjson::SUCCESS) {
    return "the field '" + name_ + "' is " + type_name(field.value_unsafe()) + ", not a string";
  }
  text += value;
  return "";
}

}  // namespace hftrain::data

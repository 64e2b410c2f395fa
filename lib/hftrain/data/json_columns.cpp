#include "hftrain/data/json_columns.h"

#include <simdjson.h>

#include <algorithm>
#include <limits>

#include "hftrain/base/error.h"
#include "hftrain/data/column_choice.h"

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

std::vector<std::string> fields_of(const simdjson::dom::object& record) {
  std::vector<std::string> names;
  for (const auto field : record) names.emplace_back(field.key);
  return names;
}

// A key that some object in `value` has twice.
std::optional<std::string> repeated_key(const element& value) {
  simdjson::dom::array list;
  if (value.get_array().get(list) == simdjson::SUCCESS) {
    for (const element item : list) {
      if (auto key = repeated_key(item)) return key;
    }
  }
  simdjson::dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return std::nullopt;
  std::vector<std::string_view> keys;
  for (const auto field : object) {
    keys.push_back(field.key);
    if (auto key = repeated_key(field.value)) return key;
  }
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  return twice == keys.end() ? std::nullopt : std::optional<std::string>(*twice);
}

// What Python's json module writes of a number that JSON does not know; nullptr where there is none.
const char* number_of_python(std::string_view record) {
  bool in_string = false;
  for (size_t i = 0; i < record.size(); ++i) {
    if (in_string && record[i] == '\\') {
      ++i;
    } else if (record[i] == '"') {
      in_string = !in_string;
    } else if (!in_string) {
      for (const char* number : {"NaN", "Infinity"}) {
        if (record.substr(i).starts_with(number)) return number;
      }
    }
  }
  return nullptr;
}

// A copy of any value. Whole numbers that no int64 holds become numbers.
void set_value(const element& value, size_t slot, Records& records) {
  switch (value.type()) {
    case element_type::NULL_VALUE:
      return;
    case element_type::BOOL:
      return records.set_boolean(slot, value.get_bool().value_unsafe());
    case element_type::INT64:
      return records.set_integer(slot, value.get_int64().value_unsafe());
    case element_type::STRING:
      return records.set_text(slot, value.get_string().value_unsafe());
    case element_type::ARRAY: {
      const simdjson::dom::array list = value.get_array().value_unsafe();
      size_t size = 0;
      for ([[maybe_unused]] const element item : list) ++size;
      size_t next = records.set_list(slot, size);
      for (const element item : list) set_value(item, next++, records);
      return;
    }
    case element_type::OBJECT: {
      const simdjson::dom::object object = value.get_object().value_unsafe();
      size_t size = 0;
      for ([[maybe_unused]] const auto field : object) ++size;
      size_t next = records.set_object(slot, size);
      for (const auto field : object) {
        records.set_text(next++, field.key);
        set_value(field.value, next++, records);
      }
      return;
    }
    default:
      records.set_number(slot, value.get_double().value_unsafe());
  }
}

}  // namespace

ColumnProblem unreadable_record(const char* reason, std::string_view record) {
  if (const char* number = number_of_python(record))
    return {std::string(number) + " is no JSON", "give the field a number, or leave the record out"};
  return {reason, kWriteRecords};
}

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

std::optional<ColumnProblem> JsonColumns::add_row(const element& record, const std::string& path,
                                                  int64_t line, Records& records) {
  constexpr const char* kHint = "give every record a string field 'text'";
  std::string_view text;
  if (rule_.text_only && record.get_string().get(text) == simdjson::SUCCESS) {
    records.begin_row(path, line);
    records.set_text(records.slot(0), text);
    return std::nullopt;
  }
  simdjson::dom::object object;
  if (record.get_object().get(object) != simdjson::SUCCESS) {
    const std::string must = rule_.text_only ? kNoRecord : "a record must be an object";
    return ColumnProblem{must + ", not " + type_name(record), rule_.text_only ? kHint : ""};
  }
  if (!chosen_) {
    names_ = chosen_columns(rule_, fields_of(object), path + ':' + std::to_string(line));
    for (const auto& [column, name] : rule_.of_some_records) names_[column] = name;
    chosen_ = true;
  }
  records.begin_row(path, line);
  for (size_t column = 0; column < names_.size(); ++column) {
    std::optional<ColumnProblem> problem = set(column, object, records);
    if (!problem) continue;
    if (rule_.text_only && problem->hint.empty()) problem->hint = kHint;
    return problem;
  }
  return std::nullopt;
}

std::optional<ColumnProblem> JsonColumns::set(size_t column, const simdjson::dom::object& record,
                                              Records& records) {
  const std::string& name = names_[column];
  if (name.empty()) return std::nullopt;
  std::optional<element> value;
  for (const auto field : record) {
    if (field.key != name) continue;
    if (value)
      return ColumnProblem{"the record has two fields '" + name + "'", "give every field a name of its own"};
    value = field.value;
  }
  if (!value && may_lack(rule_, column)) return std::nullopt;
  if (!value) return ColumnProblem{"the record has no field '" + name + "'", "give every record this field"};
  if (const auto key = repeated_key(*value))
    return ColumnProblem{"in its field '" + name + "' the record has two fields '" + *key + "'",
                         "give every field a name of its own"};
  set_value(*value, records.slot(column), records);
  return kinds_.refuse(column, name, records.value(records.rows() - 1, column).kind());
}

}  // namespace hftrain::data

#include "hftrain/tasks/word_list.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"

namespace hftrain::tasks {
namespace {

using data::Value;
using data::ValueKind;

// An element, whichever way it was read.
struct ListElement {
  ValueKind kind = ValueKind::kNull;
  std::string text;
};

const char* noun(ListOf what) {
  return what == ListOf::kWords ? "word" : "tag";
}

Error no_list(const std::string& where, ListOf what, const std::string& why) {
  const std::string example = what == ListOf::kWords ? R"(["Ada", "sings"])" : R"(["B-PER", "O"])";
  return Error(ExitCode::kData, std::string("a row has no list of ") + noun(what) + "s")
      .where(where)
      .why(why)
      .hint("write " + example +
            (what == ListOf::kWords
                 ? ", or name the column: --text_column_name, or the description of a plug-in"
                 : ", or name the column: --label_column_name, or the description of a plug-in"));
}

ListElement element_of(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kText:
      return {ValueKind::kText, std::string(value.text())};
    case ValueKind::kInteger:
      return {ValueKind::kInteger, std::to_string(value.integer())};
    default:
      return {value.kind(), ""};
  }
}

ListElement element_of(const Json& value) {
  if (value.is_string()) return {ValueKind::kText, value.get<std::string>()};
  if (value.is_number_integer()) return {ValueKind::kInteger, std::to_string(value.get<int64_t>())};
  if (value.is_number()) return {ValueKind::kNumber, ""};
  if (value.is_boolean()) return {ValueKind::kBoolean, ""};
  if (value.is_null()) return {};
  return {value.is_array() ? ValueKind::kList : ValueKind::kObject, ""};
}

std::vector<ListElement> elements_of_text(std::string_view text, const std::string& where, ListOf what) {
  Json list;
  try {
    list = parse_json(text, where);
  } catch (const Error&) {
    throw no_list(where, what, "the cell holds text that is no JSON array");
  }
  if (!list.is_array()) throw no_list(where, what, "the cell holds JSON that is no array");
  std::vector<ListElement> elements;
  for (const Json& element : list) elements.push_back(element_of(element));
  return elements;
}

std::vector<ListElement> elements_of(const Value& cell, const std::string& where, ListOf what) {
  if (cell.kind() == ValueKind::kText) return elements_of_text(cell.text(), where, what);
  if (cell.kind() != ValueKind::kList)
    throw no_list(where, what, std::string("it is ") + data::kind_name(cell.kind()));
  std::vector<ListElement> elements;
  for (size_t i = 0; i < cell.size(); ++i) elements.push_back(element_of(cell[i]));
  return elements;
}

void check(const std::vector<ListElement>& elements, const std::string& where, ListOf what) {
  for (size_t i = 0; i < elements.size(); ++i) {
    const ValueKind kind = elements[i].kind;
    const bool fits = kind == ValueKind::kText || (what == ListOf::kTags && kind == ValueKind::kInteger);
    if (!fits || kind != elements[0].kind) {
      throw Error(ExitCode::kData, std::string("a ") + noun(what) + " of a row cannot be used")
          .where(where)
          .why(std::string(noun(what)) + ' ' + std::to_string(i + 1) + " is " + data::kind_name(kind))
          .hint(what == ListOf::kWords ? "words are strings" : "tags are strings, or all whole numbers");
    }
  }
}

}  // namespace

WordList read_list(const data::Records& records, size_t row, size_t column, ListOf what) {
  const std::string where = records.where(row);
  std::vector<ListElement> elements = elements_of(records.value(row, column), where, what);
  check(elements, where, what);
  WordList list;
  list.numbers = !elements.empty() && elements.front().kind == ValueKind::kInteger;
  for (ListElement& element : elements) list.texts.push_back(std::move(element.text));
  return list;
}

}  // namespace hftrain::tasks

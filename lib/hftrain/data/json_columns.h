// The columns of one JSON record, and where JSON values end.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/data/column_choice.h"
#include "hftrain/data/row_source.h"

namespace simdjson::dom {
class element;
class object;
}  // namespace simdjson::dom

namespace hftrain::data {

inline constexpr const char* kNoRecord = "a record must be an object";
inline constexpr const char* kWriteRecords =
    R"(write records {"column": value, …}: whole ones, one behind the other)";

// Why `record`, whole by its brackets, is none that simdjson reads (its `reason`), and what to do.
ColumnProblem unreadable_record(const char* reason, std::string_view record);

// Finds the end of a JSON value in text that arrives in pieces, by counting brackets outside strings.
class ValueScanner {
 public:
  // Only values in brackets or quotes close by themselves.
  static bool can_start(char c) { return c == '{' || c == '[' || c == '"'; }

  enum class State { kOpen, kClosed };
  // Looks at more of the value that starts with the first character ever given. `used` is how much of `text`
  // belongs to it.
  State feed(std::string_view text, size_t& used);

 private:
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

// Reads the columns of JSON records.
//
// A record that is a plain string is its own text, where the rule takes text only.
class JsonColumns {
 public:
  // `rule` outlives this.
  explicit JsonColumns(const ColumnRule& rule) : rule_(rule), kinds_(rule) {}

  // Adds a row for `record`, or says why it has none. `path` and `line` are the record's.
  std::optional<ColumnProblem> add_row(const simdjson::dom::element& record, const std::string& path,
                                       int64_t line, Records& records);

 private:
  std::optional<ColumnProblem> set(size_t column, const simdjson::dom::object& record, Records& records);

  const ColumnRule& rule_;
  bool chosen_ = false;
  std::vector<std::string> names_;
  ValueKinds kinds_;
};

}  // namespace hftrain::data

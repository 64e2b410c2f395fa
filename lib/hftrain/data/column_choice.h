// How sources ask a ColumnRule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/data/row_source.h"

namespace hftrain::data {

// What `rule` takes of a file with such columns: of the settled ones those that the first file has. An Error of the rule gets
// `where`, and the columns that are there as its reason.
std::vector<std::string> chosen_columns(const ColumnRule& rule, const std::vector<std::string>& names,
                                        const std::string& where);

// What `rule` takes of a file of lines, whose one column has no name of its own: they are the column that every file must
// have, where the first one settled a single such, or else called `text`.
std::vector<std::string> columns_of_lines(const ColumnRule& rule, const std::string& where);

// Whether records may be without column number `column` (ColumnRule::of_some_records).
bool may_lack(const ColumnRule& rule, size_t column);

// Whether the values of column number `column` are classes (ColumnRule::of_classes).
bool holds_classes(const ColumnRule& rule, size_t column);

struct ColumnProblem {
  std::string why, hint;
};

// Which values a rule takes of the records of one file. Used by one thread; `rule` outlives this.
class ValueKinds {
 public:
  explicit ValueKinds(const ColumnRule& rule) : rule_(rule), seen_(rule.columns) {}
  // Why the value of column number `column`, called `name` in the file, is refused.
  std::optional<ColumnProblem> refuse(size_t column, const std::string& name, ValueKind kind);

 private:
  const ColumnRule& rule_;
  std::vector<std::string> seen_;  // kinds of the values of typed columns so far; empty: none was seen
};

}  // namespace hftrain::data

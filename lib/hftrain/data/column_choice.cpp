#include "hftrain/data/column_choice.h"

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::data {
namespace {

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  if (names.empty()) return "the file has no columns";
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShown)));
  return "the columns are " + join(shown, ", ") + (names.size() > kShown ? ", …" : "");
}

bool is_one_of(const std::vector<size_t>& columns, size_t column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

}  // namespace

std::vector<std::string> chosen_columns(const ColumnRule& rule, const std::vector<std::string>& names,
                                        const std::string& where) {
  // One without a name, as an index often is, stands for no column.
  std::vector<std::string> named;
  std::ranges::copy_if(names, std::back_inserter(named),
                       [](const std::string& name) { return !name.empty(); });
  try {
    std::vector<std::string> chosen = rule.choose(named);
    if (chosen.size() != rule.columns)
      throw Error(ExitCode::kInternal, "a rule chooses " + std::to_string(chosen.size()) + " columns, not " +
                                           std::to_string(rule.columns));
    return chosen;
  } catch (Error& error) {
    throw error.where(where).why(listed(names));
  }
}

bool may_lack(const ColumnRule& rule, size_t column) {
  const auto& some = rule.of_some_records;
  return std::any_of(some.begin(), some.end(), [&](const auto& each) { return each.first == column; });
}

bool holds_classes(const ColumnRule& rule, size_t column) {
  return is_one_of(rule.of_classes, column);
}

std::optional<ColumnProblem> ValueKinds::refuse(size_t column, const std::string& name, ValueKind kind) {
  const bool typed = is_one_of(rule_.typed_cells, column);
  const std::string word = kind_name(kind);
  if (rule_.text_only && !typed && kind != ValueKind::kText)
    return ColumnProblem{"the field '" + name + "' is " + word + ", not a string", ""};
  if (kind == ValueKind::kNull && is_one_of(rule_.never_null, column))
    return ColumnProblem{"the field '" + name + "' is null", "fill it in, or leave the record out"};
  if (!typed || kind == ValueKind::kNull) return std::nullopt;
  if (!seen_[column].empty() && seen_[column] != word)
    return ColumnProblem{"the field '" + name + "' is " + word + ", and " + seen_[column] + " before",
                         "write all its values as one kind: all numbers, or all strings"};
  seen_[column] = word;
  return std::nullopt;
}

}  // namespace hftrain::data

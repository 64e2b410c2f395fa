#include "hftrain/data/column_choice.h"

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::data {
namespace {

constexpr const char* kLines = "text";

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

// Names of the settled columns first, as the first file has them: what a rule finds by its place it finds there.
std::vector<std::string> settled_ones_first(const ColumnRule& rule, const std::vector<std::string>& names) {
  std::vector<std::string> sorted;
  const auto add = [&](const std::string& name) {
    const bool there = std::find(names.begin(), names.end(), name) != names.end();
    if (there && std::find(sorted.begin(), sorted.end(), name) == sorted.end()) sorted.push_back(name);
  };
  for (const size_t column : rule.settled) add(rule.first->names.at(column));
  for (const std::string& name : names) add(name);
  return sorted;
}

// "" for one that the file lacks and may lack.
std::string settled_column(const ColumnRule& rule, size_t column, const std::vector<std::string>& names) {
  const std::string& name = rule.first->names.at(column);
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return name;
  if (is_one_of(rule.dispensable, column)) return "";
  throw Error(ExitCode::kData, "there is no column '" + name + "'")
      .why("columns are called as in " + rule.first->file)
      .hint("call them alike in all files of the run");
}

std::vector<std::string> chosen_by_all(const ColumnRule& rule, const std::vector<std::string>& names) {
  if (!rule.first) return rule.choose(names);
  std::vector<std::string> settled(rule.columns);
  for (const size_t column : rule.settled) settled[column] = settled_column(rule, column, names);
  if (rule.settled.size() == rule.columns) return settled;
  std::vector<std::string> chosen = rule.choose(settled_ones_first(rule, names));
  for (const size_t column : rule.settled) chosen.at(column) = settled[column];
  return chosen;
}

}  // namespace

std::vector<std::string> chosen_columns(const ColumnRule& rule, const std::vector<std::string>& names,
                                        const std::string& where) {
  // One without a name, as an index often is, stands for no column.
  std::vector<std::string> named;
  std::ranges::copy_if(names, std::back_inserter(named),
                       [](const std::string& name) { return !name.empty(); });
  try {
    std::vector<std::string> chosen = chosen_by_all(rule, named);
    if (chosen.size() != rule.columns)
      throw Error(ExitCode::kInternal, "a rule chooses " + std::to_string(chosen.size()) + " columns, not " +
                                           std::to_string(rule.columns));
    return chosen;
  } catch (Error& error) {
    const std::string& why = error.diagnostics().front().why;
    throw error.where(where).why(listed(names) + (why.empty() ? "" : "; " + why));
  }
}

std::vector<std::string> columns_of_lines(const ColumnRule& rule, const std::string& where) {
  if (rule.first) {
    std::vector<size_t> needed;
    std::ranges::copy_if(rule.settled, std::back_inserter(needed), [&](size_t column) {
      return !rule.first->names.at(column).empty() && !is_one_of(rule.dispensable, column);
    });
    std::vector<std::string> chosen(rule.columns);
    if (needed.size() == 1) {
      chosen[needed.front()] = kLines;
      return chosen;
    }
  }
  return chosen_columns(rule, {kLines}, where);
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

#include "hftrain/data/settled_columns.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/data/data_files.h"

namespace hftrain::data {
namespace {

bool names_columns(RowFormat format) {
  return format != RowFormat::kText && format != RowFormat::kLinePairs && format != RowFormat::kImageFolder;
}

// What `rule` takes of a file; no names of one without rows.
SettledColumns choice_of(const RowFile& file, ColumnRule rule) {
  SettledColumns chosen{.file = file.path, .names = {}};
  rule.choose = [&chosen, choose = std::move(rule.choose)](const std::vector<std::string>& names) {
    chosen.names = choose(names);
    return chosen.names;
  };
  Records row(rule.columns);
  open_rows({file}, {.columns = rule})->next(row);
  return chosen;
}

SettledColumns first_choice(const std::vector<std::string>& patterns, Split split, const Recipe& recipe) {
  if (patterns.empty()) return {};
  const ColumnRule rule = recipe.columns(split);
  if (rule.settled.empty()) return {};
  for (const RowFile& file : find_data_files(patterns, split, recipe.image_folders).rows) {
    if (!names_columns(file.format)) continue;
    SettledColumns chosen = choice_of(file, rule);
    if (!chosen.names.empty()) return chosen;
  }
  return {};
}

}  // namespace

SettledColumns settled_columns(const PrepareRequest& request) {
  const std::vector<std::string> none;
  const std::pair<Split, const std::vector<std::string>*> sets[] = {
      {Split::kTrain, &request.train_files},
      {Split::kTrain, request.recipe.survey ? &request.survey_files : &none},
      {Split::kValidation, &request.validation_files},
      {Split::kTest, &request.test_files},
      {Split::kValidation, &request.validation_mismatched_files},
      {Split::kTest, &request.test_mismatched_files}};
  try {
    for (const auto& [split, patterns] : sets) {
      SettledColumns chosen = first_choice(*patterns, split, request.recipe);
      if (!chosen.names.empty()) return chosen;
    }
  } catch (const Error&) {  // of a file that the run reads, and then says so
  }
  return {};
}

Recipe with_settled_columns(Recipe recipe, const SettledColumns& columns) {
  if (columns.names.empty()) return recipe;
  const auto settled = [first = std::make_shared<const SettledColumns>(columns)](
                           std::function<ColumnRule(Split)> rules) -> std::function<ColumnRule(Split)> {
    if (!rules) return rules;
    return [first, rules = std::move(rules)](Split split) {
      ColumnRule rule = rules(split);
      rule.first = first;
      return rule;
    };
  };
  recipe.columns = settled(std::move(recipe.columns));
  recipe.survey_columns = settled(std::move(recipe.survey_columns));
  return recipe;
}

PrepareRequest with_settled_columns(PrepareRequest request) {
  const SettledColumns columns = settled_columns(request);
  request.recipe = with_settled_columns(std::move(request.recipe), columns);
  return request;
}

}  // namespace hftrain::data

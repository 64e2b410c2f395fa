#include "hftrain/tasks/described_rows.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::tasks {
namespace {

using Labels = TaskDescription::Labels;

std::vector<std::string> columns_described(const TaskDescription& task, const std::vector<std::string>& names,
                                           bool needs_labels) {
  const auto there = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  std::vector<std::string> chosen;
  const auto take = [&](const std::string& name) {
    if (!there(name))
      throw Error(ExitCode::kData, "there is no column '" + name + "'")
          .hint("the plug-in describes --task " + task.name + " with it: call the column so");
    chosen.push_back(name);
  };
  for (const std::string& name : task.texts) take(name);
  if (task.texts.size() < kLabelCell) chosen.emplace_back();
  for (const std::string& name : task.label_columns) {
    if (needs_labels || there(name)) {
      take(name);
    } else {
      chosen.emplace_back();
    }
  }
  return chosen;
}

}  // namespace

Json json_of(const DescribedRows& rows) {
  const TaskDescription& task = rows.task;
  return {{"name", task.name},
          {"texts", task.texts},
          {"labels", static_cast<int>(task.labels)},
          {"label_columns", task.label_columns},
          {"names", task.names},
          {"truncation", static_cast<int>(task.truncation)},
          {"max_length", rows.max_length},
          {"spaces_words", rows.spaces_words},
          {"of_model", rows.of_model}};
}

DescribedRows rows_from_json(const Json& value) {
  DescribedRows rows;
  rows.task.name = value.at("name").get<std::string>();
  rows.task.texts = value.at("texts").get<std::vector<std::string>>();
  rows.task.labels = static_cast<Labels>(value.at("labels").get<int>());
  rows.task.label_columns = value.at("label_columns").get<std::vector<std::string>>();
  rows.task.names = value.at("names").get<std::vector<std::string>>();
  rows.task.truncation = static_cast<tokenizer::TruncationStrategy>(value.at("truncation").get<int>());
  rows.max_length = value.at("max_length").get<int64_t>();
  rows.spaces_words = value.at("spaces_words").get<bool>();
  rows.of_model = value.at("of_model").get<std::vector<std::string>>();
  return rows;
}

data::ColumnRule rule_described(const DescribedRows& rows, data::Split split) {
  const bool needs_labels = split != data::Split::kTest;
  std::vector<size_t> label_cells, all(rows.columns());
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = i;
    if (i >= kLabelCell) label_cells.push_back(i);
  }
  data::ColumnRule rule{.columns = rows.columns(),
                        .choose =
                            [task = rows.task, needs_labels](const std::vector<std::string>& names) {
                              return columns_described(task, names, needs_labels);
                            },
                        .text_only = false};
  const Labels labels = rows.task.labels;
  if (labels != Labels::kWordNames && labels != Labels::kText) {
    rule.typed_cells = label_cells;
    rule.never_null = {kFirstText, kSecondText};
  }
  if (labels == Labels::kName || labels == Labels::kNames || labels == Labels::kWordNames)
    rule.of_classes = {kLabelCell};
  rule.settled = std::move(all);
  if (!needs_labels) rule.dispensable = std::move(label_cells);
  return rule;
}

}  // namespace hftrain::tasks

// The rows of a task that a plug-in describes: all that decides their features beside a tokenizer and labels that are found, as values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/data/data_files.h"
#include "hftrain/data/row_source.h"
#include "hftrain/tasks/pair_encoder.h"
#include "hftrain/tasks/task_description.h"

namespace hftrain::tasks {

struct DescribedRows {
  TaskDescription task;  // what its JSON has of it
  int64_t max_length = 0;
  bool spaces_words = false;          // of kWordNames
  std::vector<std::string> of_model;  // of kWordNames: the order that labels have there

  // Of the records: the texts, and the labels behind them (pair_encoder.h).
  size_t columns() const { return kLabelCell + task.label_columns.size(); }
};

Json json_of(const DescribedRows& rows);
DescribedRows rows_from_json(const Json& value);

// The columns by their described names. An Error (exit code 4) where one is missing, but for the labels of test data.
data::ColumnRule rule_described(const DescribedRows& rows, data::Split split);

}  // namespace hftrain::tasks

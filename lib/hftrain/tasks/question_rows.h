// The rows of question answering: a question, the context that may answer it, and its answers, as SQuAD has
// them in one record each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/data/records.h"
#include "hftrain/data/row_source.h"

namespace hftrain::tasks {

// Characters [begin, end) of the context: code points, as Python counts them.
struct CharacterSpan {
  int64_t begin = 0;
  int64_t end = 0;
};

// Views live as long as the Records.
struct QuestionRow {
  std::string id;             // empty where the split needs none
  std::string_view question;  // without white space before it
  std::string_view context;
  bool answers_known = false;             // the row says which answers there are
  std::vector<std::string_view> answers;  // texts; empty: the context has none
  std::optional<CharacterSpan> answer;    // where the first one stands
};

// What is asked of the rows of a split.
struct QuestionNeeds {
  bool id = false;             // the answers that are predicted are told apart by it
  bool answers_column = true;  // rows must have one
  bool an_answer = false;      // and each at least one answer in it
};

// `id`, `question`, `context` and `answers` by their names; without one of the last three the first, second
// or third column of the file, where no other name claims it. A column that is needed and not there is an
// Error (exit code 4).
data::ColumnRule question_columns(const QuestionNeeds& needs);

// The id of row `row`, as text. None that is text or a whole number: Error (exit code 4) with the place of the row.
std::string question_id(const data::Records& records, size_t row);

// Row `row` of records that were read by that rule. No text where one belongs, an empty question, context or
// answer, an answer that does not stand in the context where `answer_start` says: Error (exit code 4) with the
// place of the row.
QuestionRow question_row(const data::Records& records, size_t row, const QuestionNeeds& needs);

}  // namespace hftrain::tasks

#include "hftrain/tasks/question_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/metrics/python_text.h"

namespace hftrain::tasks {
namespace {

using data::Value;
using data::ValueKind;

enum QuestionColumn : size_t { kId, kQuestion, kContext, kAnswers, kQuestionColumns };
constexpr std::array<const char*, kQuestionColumns> kQuestionNames = {"id", "question", "context", "answers"};

bool names_column(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The column of that name, else the file's column number `place`; "" when it has another meaning.
std::string named_or_placed(const std::vector<std::string>& names, const char* name, size_t place) {
  if (names_column(names, name)) return name;
  if (place >= names.size()) return "";
  const bool claimed =
      std::find(kQuestionNames.begin(), kQuestionNames.end(), names[place]) != kQuestionNames.end();
  return claimed ? "" : names[place];
}

Error missing_column(const std::vector<std::string>& names, const char* name) {
  Error error(ExitCode::kData, std::string("there is no column '") + name + "'");
  if (names_column(names, "paragraphs"))
    return error.hint("write a record for each question: {\"id\", \"question\", \"context\", \"answers\"}");
  return error.hint(std::string("call the column that holds it '") + name + "'");
}

std::vector<std::string> chosen_columns_of(const std::vector<std::string>& names,
                                           const QuestionNeeds& needs) {
  std::vector<std::string> chosen = {names_column(names, kQuestionNames[kId]) ? kQuestionNames[kId] : ""};
  if (needs.id && chosen.front().empty()) throw missing_column(names, kQuestionNames[kId]);
  for (size_t column = kQuestion; column <= kAnswers; ++column) {
    chosen.push_back(named_or_placed(names, kQuestionNames[column], column - 1));
    const bool needed = column != kAnswers || needs.answers_column;
    if (needed && chosen.back().empty()) throw missing_column(names, kQuestionNames[column]);
  }
  return chosen;
}

Error bad_row(const data::Records& records, size_t row, const std::string& what, const std::string& why,
              const std::string& hint) {
  return Error(ExitCode::kData, what).where(records.where(row)).why(why).hint(hint);
}

std::string_view row_text(const data::Records& records, size_t row, size_t column) {
  const Value value = records.value(row, column);
  const std::string name = kQuestionNames[column];
  if (value.kind() != ValueKind::kText)
    throw bad_row(records, row, "the " + name + " of a row is no string",
                  std::string("it is ") + data::kind_name(value.kind()), "write it as text");
  return value.text();
}

// Without the white space that str.lstrip() takes away.
std::string_view stripped_on_left(std::string_view text) {
  const std::u32string all = metrics::characters(text);
  size_t spaces = 0;
  while (spaces < all.size() && metrics::is_python_space(all[spaces])) ++spaces;
  return text.substr(metrics::utf8(std::u32string_view(all).substr(0, spaces)).size());
}

std::string_view filled(const data::Records& records, size_t row, size_t column) {
  const std::string_view text = stripped_on_left(row_text(records, row, column));
  if (text.empty())
    throw bad_row(records, row, std::string("the ") + kQuestionNames[column] + " of a row is empty",
                  "there is nothing to read an answer from", "fill it in, or leave the row out");
  return column == kQuestion ? text : records.value(row, column).text();
}

constexpr const char* kAnswersHint = R"(write {"text": ["…"], "answer_start": [0]}; empty lists: no answer)";

// One of the two lists of the row's answers.
Value answer_list(const data::Records& records, size_t row, const Value& answers, const char* field) {
  const auto found = answers.kind() == ValueKind::kObject ? answers.find(field) : std::nullopt;
  if (found && found->kind() == ValueKind::kList) return *found;
  const std::string why =
      answers.kind() != ValueKind::kObject
          ? std::string("they are ") + data::kind_name(answers.kind())
          : std::string(field) + " is " + (found ? data::kind_name(found->kind()) : "missing");
  throw bad_row(records, row, "the answers of a row are not an object of two lists", why, kAnswersHint);
}

// Where the row's first answer stands, which must be there.
CharacterSpan place_of(const data::Records& records, size_t row, std::string_view context,
                       std::string_view answer, const Value& start) {
  if (answer.empty())
    throw bad_row(records, row, "an answer is empty", "it has no first and no last token",
                  "an answer that is there, or empty lists for none");
  if (start.kind() != ValueKind::kInteger)
    throw bad_row(records, row, "an answer_start is no whole number",
                  std::string("it is ") + data::kind_name(start.kind()),
                  "count the characters before the answer");
  const std::u32string text = metrics::characters(context), wanted = metrics::characters(answer);
  const int64_t begin = start.integer(), size = static_cast<int64_t>(text.size());
  if (begin < 0 || begin >= size)
    throw bad_row(records, row, "an answer starts outside its context",
                  "answer_start is " + std::to_string(begin) + ", and the context has " +
                      std::to_string(size) + " characters",
                  "count the characters before the answer, from 0");
  const auto there = std::u32string_view(text).substr(static_cast<size_t>(begin), wanted.size());
  if (there != wanted)
    throw bad_row(records, row, "an answer is not in its context",
                  "at character " + std::to_string(begin) + " stands '" + metrics::utf8(there) + "', not '" +
                      std::string(answer) + "'",
                  "the answer as the context has it, and answer_start in characters from 0");
  return {begin, begin + static_cast<int64_t>(wanted.size())};
}

void read_answers(const data::Records& records, size_t row, const QuestionNeeds& needs, QuestionRow& result) {
  const Value answers = records.value(row, kAnswers);
  if (answers.kind() == ValueKind::kNull && !needs.answers_column) return;
  const Value texts = answer_list(records, row, answers, "text");
  const Value starts = answer_list(records, row, answers, "answer_start");
  if (texts.size() != starts.size())
    throw bad_row(records, row, "the answers of a row are not an object of two lists",
                  std::to_string(texts.size()) + " texts have " + std::to_string(starts.size()) + " starts",
                  kAnswersHint);
  result.answers_known = true;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].kind() != ValueKind::kText)
      throw bad_row(records, row, "an answer is no string",
                    std::string("it is ") + data::kind_name(texts[i].kind()), kAnswersHint);
    result.answers.push_back(texts[i].text());
  }
  if (texts.size() > 0) {
    result.answer = place_of(records, row, result.context, result.answers.front(), starts[0]);
  } else if (needs.an_answer) {
    throw bad_row(records, row, "a question has no answer", "without --version_2_with_negative every one has",
                  "--version_2_with_negative, or leave the row out");
  }
}

}  // namespace

data::ColumnRule question_columns(const QuestionNeeds& needs) {
  return {
      .columns = kQuestionColumns,
      .choose = [needs](const std::vector<std::string>& names) { return chosen_columns_of(names, needs); },
      .text_only = false,
      .settled = {kQuestion, kContext, kAnswers},
      .dispensable = needs.answers_column ? std::vector<size_t>() : std::vector<size_t>{kAnswers}};
}

std::string question_id(const data::Records& records, size_t row) {
  const Value value = records.value(row, kId);
  if (value.kind() == ValueKind::kInteger) return std::to_string(value.integer());
  return std::string(row_text(records, row, kId));
}

QuestionRow question_row(const data::Records& records, size_t row, const QuestionNeeds& needs) {
  QuestionRow result;
  if (needs.id) result.id = question_id(records, row);
  result.question = filled(records, row, kQuestion);
  result.context = filled(records, row, kContext);
  read_answers(records, row, needs, result);
  return result;
}

}  // namespace hftrain::tasks

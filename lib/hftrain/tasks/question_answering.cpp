// Question answering by the place of the answer in a context, as run_qa has it.
//
//   columns   question, context, answers {text, answer_start}; id where answers are predicted
//   length    --max_seq_length tokens (384), the question whole, the context in windows that share --doc_stride
//             tokens (128)
//   labels    the first and the last token of the first answer; windows without it have the token of "no answer"
//   padding   to that length, or with --no_pad_to_max_length to the longest of the batch; on the left the
//             context comes first
#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/tasks/answer_scorer.h"
#include "hftrain/tasks/padded_sequences.h"
#include "hftrain/tasks/question_encoder.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::tasks {
namespace {

constexpr int64_t kDefaultWindow = 384;  // tokens

int64_t longest_window(const TaskInput& input) {
  const int64_t asked = input.arguments.data.max_seq_length.value_or(kDefaultWindow);
  return std::min(asked, input.tokenizer_max_length.value_or(asked));
}

bool fills_windows(const TaskInput& input) {
  return input.pad_to_max_length.value_or(true);
}

// What is asked of a split: to learn from answers they must be known, to predict them the question needs a name.
QuestionNeeds needs_of(data::Split split, bool may_lack_answers) {
  return {.id = split != data::Split::kTrain,
          .answers_column = split != data::Split::kTest,
          .an_answer = split == data::Split::kValidation && !may_lack_answers};
}

void check_stride(int64_t stride, int64_t window) {
  if (stride < window) return;
  throw Error(ExitCode::kUsage, "windows of " + std::to_string(window) + " tokens cannot share " +
                                    std::to_string(stride) + " with their neighbours")
      .where("--doc_stride")
      .why("a window holds the question too, and must go on where the one before it ends")
      .hint("a --doc_stride of a third of --max_seq_length, for example");
}

// Answers are told apart by the ids of their questions.
std::function<void(const data::Records&, size_t)> unique_ids() {
  return [seen = std::make_shared<std::unordered_map<std::string, std::string>>()](
             const data::Records& records, size_t row) {
    const std::string id = question_id(records, row);
    const auto [first, is_new] = seen->emplace(id, records.where(row));
    if (is_new) return;
    throw Error(ExitCode::kData, "two questions have the same id")
        .where(records.where(row))
        .why("'" + id + "' is that of " + first->second + " too")
        .hint("give every question an id of its own");
  };
}

data::Recipe question_recipe(const TaskInput& input) {
  const arguments::DataArguments& asked = input.arguments.data;
  const bool may_lack_answers = asked.version_2_with_negative;
  QuestionEncoding encoding;
  encoding.max_length = longest_window(input);
  encoding.stride = asked.doc_stride;
  encoding.context_first = input.pads_on_left;
  if (fills_windows(input)) encoding.filled_with = input.pad_id;
  check_stride(encoding.stride, encoding.max_length);
  data::Recipe recipe;
  recipe.task = "question-answering";
  recipe.options = {{"max_length", encoding.max_length},
                    {"stride", encoding.stride},
                    {"context_first", encoding.context_first},
                    {"filled_with", encoding.filled_with ? Json(*encoding.filled_with) : Json()},
                    {"may_lack_answers", may_lack_answers}};
  recipe.arrangement = data::Arrangement::kKeepRows;
  recipe.facts = Json::object();
  recipe.columns = [=](data::Split split) { return question_columns(needs_of(split, may_lack_answers)); };
  recipe.watch = [=](data::Split split) -> std::function<void(const data::Records&, size_t)> {
    if (needs_of(split, may_lack_answers).id) return unique_ids();
    return nullptr;
  };
  recipe.encoder = [=](std::shared_ptr<const tokenizer::Tokenizer> tokenizer, data::Split split,
                       const Json&) {
    QuestionEncoding options = encoding;
    options.needs = needs_of(split, may_lack_answers);
    options.labels = split != data::Split::kTest;
    options.reading = split != data::Split::kTrain;
    return question_encoder(std::move(tokenizer), options);
  };
  return recipe;
}

data::PaddingOptions question_padding(const TaskInput& input, const Json&) {
  using Form = data::PaddedColumn::Form;
  data::PaddingOptions options;
  options.columns = {{"input_ids", data::kInputIds, Form::kSequence, input.pad_id.value_or(0)},
                     {"attention_mask", data::kInputIds, Form::kMask}};
  if (gives_types(input)) options.columns.push_back({"token_type_ids", "token_type_ids", Form::kSequence});
  for (const char* name : {kStartPositions, kEndPositions})
    options.columns.push_back({name, name, Form::kPlace});
  options.on_left = input.pads_on_left;
  if (fills_windows(input)) {
    options.length = longest_window(input);
  } else if (input.arguments.precision.fp16) {
    options.multiple = 8;  // what the script asks of its collator, for the GPU's sake
  }
  return options;
}

}  // namespace

TaskRow question_answering() {
  return {.task = Task::kQuestionAnswering,
          .name = "question-answering",
          .head = architectures::Head::kQuestionAnswering,
          .pipeline = "question-answering",
          .flags = {"max_seq_length", "doc_stride", "pad_to_max_length", "version_2_with_negative",
                    "n_best_size", "max_answer_length", "null_score_diff_threshold"},
          .recipe = question_recipe,
          .padding = question_padding,
          .longest = longest_window,
          .scoring = [](const TaskInput& input, const Json&) { return answer_scoring(input); },
          .scorer = answer_scorer};
}

}  // namespace hftrain::tasks

// Token classification, as run_ner has it: rows of words, each with a tag.
//
//   columns   --text_column_name, else `tokens`, else the first; --label_column_name, else <task_name>_tags
//             (ner_tags), else the second; rows of --test_file need no tags
//   labels    strings, sorted; or whole numbers, which are the labels' numbers; in the model's order where it
//             was trained for the same ones
//   length    --max_seq_length tokens, else what the tokenizer and the model take
//   metrics   those of entities that seqeval counts, of all or with --return_entity_level_metrics of each type
//   padding   to the longest of the batch, or with --pad_to_max_length to that length
#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/tasks/label_set.h"
#include "hftrain/tasks/model_labels.h"
#include "hftrain/tasks/padded_sequences.h"
#include "hftrain/tasks/tag_encoder.h"
#include "hftrain/tasks/tag_scorer.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::tasks {
namespace {

constexpr size_t kWordColumn = 0, kTagColumn = 1, kTagTaskColumns = 2;
constexpr int64_t kLengthWithoutLimit = 1024;  // tokens
constexpr int64_t kLabelPad = -100;

// What the user says of the columns.
struct TagColumns {
  std::optional<std::string> words, tags;
  std::string task_name;
};

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string asked_column(const std::vector<std::string>& names, const std::string& name,
                         const std::string& flag) {
  if (is_one_of(names, name)) return name;
  throw Error(ExitCode::kData, "there is no column '" + name + "'")
      .hint("name one that is there with " + flag);
}

std::string word_column(const std::vector<std::string>& names, const TagColumns& asked) {
  if (asked.words) return asked_column(names, *asked.words, "--text_column_name");
  if (is_one_of(names, "tokens")) return "tokens";
  if (names.empty()) throw Error(ExitCode::kData, "there is no column with words").hint("name it tokens");
  return names.front();
}

std::string tag_column(const std::vector<std::string>& names, const TagColumns& asked) {
  if (asked.tags) return asked_column(names, *asked.tags, "--label_column_name");
  const std::string usual = asked.task_name + "_tags";
  if (is_one_of(names, usual)) return usual;
  if (names.size() < 2)
    throw Error(ExitCode::kData, "there is no column with tags")
        .hint("name it " + usual + ", or say which it is with --label_column_name");
  return names[1];
}

// Of data to be predicted: "" where there are no tags.
std::string tag_column_if_any(const std::vector<std::string>& names, const TagColumns& asked,
                              const std::string& words) {
  const std::string usual = asked.tags.value_or(asked.task_name + "_tags");
  if (is_one_of(names, usual)) return usual;
  return asked.tags || names.size() < 2 || names[1] == words ? "" : names[1];
}

std::vector<std::string> chosen_pair(const std::vector<std::string>& names, const TagColumns& asked,
                                     data::Split split) {
  if (split == data::Split::kTest) {
    const std::string words = word_column(names, asked), tags = tag_column_if_any(names, asked, words);
    return {words, tags == words ? "" : tags};
  }
  const std::string words = word_column(names, asked), tags = tag_column(names, asked);
  if (words == tags)
    throw Error(ExitCode::kData, "the column '" + words + "' cannot hold the words and the tags both")
        .hint("say which columns they are with --text_column_name and --label_column_name");
  return {words, tags};
}

TagColumns columns_of(const arguments::DataArguments& asked) {
  return {asked.text_column_name, asked.label_column_name, to_lower(asked.task_name.value_or("ner"))};
}

// Of a row with its special tokens.
int64_t longest_tagged(const TaskInput& input) {
  const int64_t limit = input.tokenizer_max_length.value_or(input.model_positions);
  if (const auto& asked = input.arguments.data.max_seq_length)
    return std::min(*asked, input.tokenizer_max_length.value_or(*asked));
  const int64_t positions = input.model_positions > 0 ? input.model_positions : limit;
  return limit > 0 ? std::min(limit, positions) : kLengthWithoutLimit;
}

std::vector<std::string> tags_of_model(const TaskInput& input) {
  const std::optional<LabelSet> labels = LabelSet::of_config(input.model_config);
  return labels ? labels->names() : std::vector<std::string>();
}

data::Recipe tag_recipe(const TaskInput& input) {
  const TagColumns columns = columns_of(input.arguments.data);
  const TagEncoding encoding{.words = kWordColumn,
                             .tags = kTagColumn,
                             .max_length = longest_tagged(input),
                             .label_all_tokens = input.arguments.data.label_all_tokens};
  const bool spaces = input.spaces_words;
  const std::vector<std::string> of_model = tags_of_model(input);
  data::Recipe recipe;
  recipe.task = "token-classification";
  recipe.length_flag = "--max_seq_length";
  recipe.options = {{"words", columns.words ? Json(*columns.words) : Json()},
                    {"tags", columns.tags ? Json(*columns.tags) : Json()},
                    {"task_name", columns.task_name},
                    {"max_length", encoding.max_length},
                    {"label_all_tokens", encoding.label_all_tokens},
                    {"spaces_words", spaces},
                    {"word_starts", "of test rows"},
                    {"of_model", of_model}};
  recipe.arrangement = data::Arrangement::kKeepRows;
  recipe.columns = [=](data::Split split) -> data::ColumnRule {
    return {
        .columns = kTagTaskColumns,
        .choose = [=](const auto& names) { return chosen_pair(names, columns, split); },
        .text_only = false,
        .of_classes = {kTagColumn},
        .settled = {kWordColumn, kTagColumn},
        .dispensable = split == data::Split::kTest ? std::vector<size_t>{kTagColumn} : std::vector<size_t>()};
  };
  if (const std::optional<LabelSet> kept = labels_of_model(input)) {
    recipe.facts = TagSet(kept->names()).to_json_value();
  } else {
    recipe.survey = [=](data::RowSource& rows, const std::function<bool()>& stopped) -> std::optional<Json> {
      const auto found = TagSet::of_rows(rows, kTagTaskColumns, kTagColumn, of_model, stopped);
      return found ? std::optional(found->to_json_value()) : std::nullopt;
    };
  }
  recipe.encoder = [=](std::shared_ptr<const tokenizer::Tokenizer> tokenizer, data::Split split,
                       const Json& facts) {
    if (spaces) tokenizer = tokenizer::Tokenizer::load(tokenizer->folder(), {.add_prefix_space = true});
    TagEncoding of_split = encoding;
    of_split.predicts = split == data::Split::kTest;
    return tag_encoder(std::move(tokenizer), TagSet::from_json(facts), of_split);
  };
  return recipe;
}

data::PaddingOptions tag_padding(const TaskInput& input, const Json&) {
  data::PaddingOptions options = padded_sequences(input);
  options.columns.push_back({"labels", "labels", data::PaddedColumn::Form::kSequence, kLabelPad});
  if (input.pad_to_max_length.value_or(false)) fix_length(options, longest_tagged(input));
  return options;
}

Scoring tags_scoring(const TaskInput& input, const Json& facts) {
  return tag_scoring({.tags = facts.is_null() ? tags_of_model(input) : TagSet::from_json(facts).names(),
                      .entity_level = input.arguments.evaluation.return_entity_level_metrics,
                      .pads_on_left = input.pads_on_left,
                      .longest = longest_tagged(input)});
}

}  // namespace

TaskRow token_classification() {
  return {.task = Task::kTokenClassification,
          .name = "token-classification",
          .head = architectures::Head::kTokenClassification,
          .pipeline = "token-classification",
          .flags = {"task_name", "text_column_name", "label_column_name", "label_all_tokens",
                    "max_seq_length", "pad_to_max_length", "return_entity_level_metrics"},
          .recipe = tag_recipe,
          .padding = tag_padding,
          .longest = longest_tagged,
          .config_changes = [](const Json& facts) { return TagSet::from_json(facts).config_changes(); },
          .scoring = tags_scoring,
          .scorer = make_tag_scorer};
}

}  // namespace hftrain::tasks

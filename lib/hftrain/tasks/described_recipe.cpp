#include "hftrain/tasks/described_recipe.h"

#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"
#include "hftrain/tasks/continuation_encoder.h"
#include "hftrain/tasks/described_rows.h"
#include "hftrain/tasks/label_set.h"
#include "hftrain/tasks/model_labels.h"
#include "hftrain/tasks/pair_encoder.h"
#include "hftrain/tasks/tag_encoder.h"

namespace hftrain::tasks {
namespace {

using Labels = TaskDescription::Labels;

LabelSet::Kind kind_of(Labels labels) {
  return labels == Labels::kName     ? LabelSet::Kind::kClasses
         : labels == Labels::kNames  ? LabelSet::Kind::kMultiLabel
         : labels == Labels::kNumber ? LabelSet::Kind::kRegression
                                     : LabelSet::Kind::kNumbers;
}

// What the description says of the labels; null: nothing, or there is nothing to say.
Json labels_described(const TaskDescription& task) {
  if (task.labels == Labels::kText) return nullptr;
  if (task.labels != Labels::kNumber && task.names.empty()) return nullptr;
  if (task.labels == Labels::kWordNames) return TagSet(task.names).to_json_value();
  return LabelSet::named(kind_of(task.labels), task.names).to_json_value();
}

const char* words_of(LabelSet::Kind kind) {
  return kind == LabelSet::Kind::kClasses      ? "one class a row"
         : kind == LabelSet::Kind::kMultiLabel ? "lists of classes"
                                               : "numbers with a fraction";
}

LabelSet require_kind(LabelSet found, const TaskDescription& task) {
  if (found.kind() == kind_of(task.labels)) return found;
  throw Error(ExitCode::kData, "the labels are not those that the plug-in describes")
      .why("they are " + std::string(words_of(found.kind())) + ", and those of --task " + task.name +
           " are " + words_of(kind_of(task.labels)))
      .hint("rows as described, or labels of another kind in the description");
}

std::optional<Json> survey_described(const DescribedRows& described, data::RowSource& rows,
                                     const std::function<bool()>& stopped) {
  if (described.task.labels == Labels::kWordNames) {
    const auto tags = TagSet::of_rows(rows, described.columns(), kLabelCell, described.of_model, stopped);
    return tags ? std::optional(tags->to_json_value()) : std::nullopt;
  }
  auto labels = LabelSet::of_rows(rows, described.columns(), kLabelCell, false, stopped);
  if (!labels) return std::nullopt;
  return require_kind(*std::move(labels), described.task).to_json_value();
}

std::unique_ptr<data::Encoder> encoder_described(const DescribedRows& rows,
                                                 std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                                 data::Split split, const Json& labels) {
  const bool predicts = split == data::Split::kTest;
  const TaskDescription& task = rows.task;
  if (task.labels == Labels::kText)
    return continuation_encoder(std::move(tokenizer), {.text = kFirstText,
                                                       .continuation = kLabelCell,
                                                       .max_length = rows.max_length,
                                                       .predicts = predicts});
  if (task.labels == Labels::kWordNames) {
    if (rows.spaces_words)
      tokenizer = tokenizer::Tokenizer::load(tokenizer->folder(), {.add_prefix_space = true});
    return tag_encoder(
        std::move(tokenizer), TagSet::from_json(labels),
        {.words = kFirstText, .tags = kLabelCell, .max_length = rows.max_length, .predicts = predicts});
  }
  std::optional<LabelSet> known;
  if (!predicts) known = LabelSet::from_json(labels);
  return pair_encoder(
      std::move(tokenizer),
      {.max_length = rows.max_length,
       .strategy = task.truncation,
       .label_columns = task.label_columns.size() > 1,
       .hint = "the columns of --task " + task.name + " with texts are " + join(task.texts, ", ")},
      std::move(known));
}

data::Recipe recipe_of_rows(const DescribedRows& rows) {
  const Json known = labels_described(rows.task);
  data::Recipe recipe;
  recipe.task = rows.task.name;
  recipe.length_flag = "--max_seq_length";
  recipe.options = recipe.settings = json_of(rows);
  recipe.arrangement = data::Arrangement::kKeepRows;
  recipe.facts = known;
  recipe.columns = [rows](data::Split split) { return rule_described(rows, split); };
  recipe.encoder = [rows, known](std::shared_ptr<const tokenizer::Tokenizer> tokenizer, data::Split split,
                                 const Json& facts) {
    return encoder_described(rows, std::move(tokenizer), split, facts.is_null() ? known : facts);
  };
  return recipe;
}

Error other_labels(const TaskDescription& task, const TaskInput& input, const std::string& there,
                   const std::string& described) {
  return Error(ExitCode::kData, "the model was trained for other labels than the plug-in describes")
      .where(input.arguments.model.model_name_or_path.value_or("--model_name_or_path"))
      .why(there + ", and those of --task " + task.name + " are " + described)
      .hint("a model that was trained for this task, or train it with --do_train");
}

// Numbers have one kind in config.json, however many they are.
void check_kind_of_model(const TaskDescription& task, const TaskInput& input, LabelSet::Kind kind) {
  const bool numbers = task.labels == Labels::kNumbers;
  if (kind == (numbers ? LabelSet::Kind::kRegression : kind_of(task.labels))) return;
  throw other_labels(task, input, "its labels are " + std::string(words_of(kind)),
                     words_of(kind_of(task.labels)));
}

// Of a run that does not train.
std::optional<Json> labels_kept(const TaskDescription& task, const TaskInput& input) {
  const std::optional<LabelSet> kept = labels_of_model(input);
  if (!kept) return std::nullopt;
  if (task.labels == Labels::kWordNames) return TagSet(kept->names()).to_json_value();
  check_kind_of_model(task, input, kept->kind());
  return kept->to_json_value();
}

std::string called(const std::vector<std::string>& names, size_t number) {
  return number < names.size() ? "'" + printable(names[number]) + "'" : "none";
}

// Of a model whose config gives its labels no names.
void check_count_of_model(const TaskDescription& task, const TaskInput& input, const Json& config) {
  const std::optional<LabelSet> counted = LabelSet::counted_in(config);
  const int64_t described = task.labels == Labels::kNumber ? 1 : static_cast<int64_t>(task.names.size());
  if (counted && counted->size() == described) return;
  throw other_labels(task, input,
                     counted ? "its labels are " + std::to_string(counted->size()) + ", without names"
                             : "its labels do not have the numbers 0, 1, …",
                     std::to_string(described));
}

// A model that is only judged says its labels by number, and so does the description: one of them would be taken for another.
void check_labels_of_model(const TaskDescription& task, const TaskInput& input) {
  require_trained_head(input);
  if (input.trains || !input.has_head) return;
  Json config = input.model_config;
  const std::optional<LabelSet> of_model = LabelSet::of_config(config);
  const bool says_kind =
      task.labels != Labels::kWordNames && config.value("problem_type", Json()).is_string();
  if (of_model && says_kind) check_kind_of_model(task, input, of_model->kind());
  config.erase("problem_type");  // numbers are named, too
  const std::optional<LabelSet> named = LabelSet::of_config(config);
  if (!named) return check_count_of_model(task, input, config);
  if (named->names() == task.names) return;
  const std::vector<std::string>& names = named->names();
  if (task.labels == Labels::kNumber && names.size() == 1) return;  // called as somebody likes
  size_t first = 0;
  while (first < names.size() && first < task.names.size() && names[first] == task.names[first]) ++first;
  throw other_labels(task, input, "its label " + std::to_string(first) + " is " + called(names, first),
                     "described with " + called(task.names, first) + " there");
}

}  // namespace

int64_t longest_described(const TaskDescription& task, const TaskInput& input) {
  const int64_t asked = input.arguments.data.max_seq_length.value_or(task.max_length);
  return std::min(asked, input.tokenizer_max_length.value_or(asked));
}

data::Recipe described_recipe_again(const Json& settings) {
  return recipe_of_rows(rows_from_json(settings));
}

data::Recipe described_recipe(const TaskDescription& task, const TaskInput& input) {
  DescribedRows rows{.task = task, .max_length = longest_described(task, input)};
  const bool words = task.labels == Labels::kWordNames;
  if (words) {
    const std::optional<LabelSet> of_model = LabelSet::of_config(input.model_config);
    rows.spaces_words = input.spaces_words;
    if (of_model && task.names.empty()) rows.of_model = of_model->names();
  }
  data::Recipe recipe = recipe_of_rows(rows);
  if (task.labels == Labels::kText) return recipe;
  if (!recipe.facts.is_null()) {
    check_labels_of_model(task, input);
    return recipe;
  }
  recipe.settings = nullptr;
  if (auto kept = labels_kept(task, input)) {
    recipe.facts = *std::move(kept);
  } else {
    recipe.survey = [rows](data::RowSource& source, const std::function<bool()>& stopped) {
      return survey_described(rows, source, stopped);
    };
  }
  return recipe;
}

}  // namespace hftrain::tasks

// Text classification and regression, as run_glue has it: one text or a pair, and a label.
//
//   columns   with --task_name those of the GLUE task; else sentence1 and sentence2, else the first one or two
//             columns beside `label`
//   labels    whole numbers, strings or booleans: classes, sorted; numbers with a fraction, and stsb:
//             regression; lists: several labels at once (multi-label)
//   length    --max_seq_length tokens (128), the longer text of a pair is cut first
//   padding   to that length, or with --no_pad_to_max_length to the longest of the batch
//   sets      with --task_name mnli second ones of validation and test data, evaluated and predicted at the end
//   metrics   those of the GLUE task; else accuracy, the mean squared error of a regression, and the micro F1
//             of several labels at once
#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/metrics/metric_table.h"
#include "hftrain/tasks/class_scorer.h"
#include "hftrain/tasks/glue_task.h"
#include "hftrain/tasks/label_set.h"
#include "hftrain/tasks/model_labels.h"
#include "hftrain/tasks/padded_sequences.h"
#include "hftrain/tasks/pair_encoder.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::tasks {
namespace {

constexpr const char* kLabel = "label";
constexpr int64_t kDefaultLength = 128;  // tokens
constexpr size_t kColumns = 3;           // in the order of pair_encoder.h

// Nothing without --task_name.
std::optional<GlueTask> glue_task(const TaskInput& input) {
  const std::optional<std::string>& asked = input.arguments.data.task_name;
  return asked ? std::optional(glue_task_named(*asked)) : std::nullopt;
}

bool has(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string needed(const std::vector<std::string>& names, const char* name) {
  if (has(names, name)) return name;
  throw Error(ExitCode::kData, std::string("there is no column '") + name + "'")
      .hint(std::string("call the column that holds it '") + name + "'");
}

std::vector<std::string> chosen(const std::vector<std::string>& names, const std::optional<GlueTask>& glue,
                                bool needs_label) {
  std::string label = has(names, kLabel) ? kLabel : "";
  if (needs_label) label = needed(names, kLabel);
  if (glue) return {needed(names, glue->first), glue->second ? needed(names, glue->second) : "", label};
  if (has(names, "sentence1") && has(names, "sentence2")) return {"sentence1", "sentence2", label};
  std::vector<std::string> others;
  std::copy_if(names.begin(), names.end(), std::back_inserter(others),
               [](const std::string& name) { return name != kLabel; });
  if (others.empty())
    throw Error(ExitCode::kData, "there is no column with text")
        .hint("name it sentence1, or anything but label");
  return {others[0], others.size() > 1 ? others[1] : "", label};
}

data::ColumnRule column_rule(const std::optional<GlueTask>& glue, data::Split split) {
  const bool needs_label = split != data::Split::kTest;
  return {.columns = kColumns,
          .choose = [=](const std::vector<std::string>& names) { return chosen(names, glue, needs_label); },
          .text_only = false,
          .typed_cells = {kLabelCell},
          .never_null = {kFirstText, kSecondText},
          .of_classes = {kLabelCell},
          .settled = {kFirstText, kSecondText, kLabelCell},
          .dispensable = needs_label ? std::vector<size_t>() : std::vector<size_t>{kLabelCell}};
}

int64_t longest(const TaskInput& input) {
  const int64_t asked = input.arguments.data.max_seq_length.value_or(kDefaultLength);
  return std::min(asked, input.tokenizer_max_length.value_or(asked));
}

// Whose numbers a GLUE task keeps. Empty: of files of one's own the data's order is taken, as by run_glue.
std::vector<std::string> order_of_model(const TaskInput& input, const std::optional<GlueTask>& glue) {
  const auto labels = glue ? LabelSet::of_config(input.model_config) : std::nullopt;
  return labels ? labels->names() : std::vector<std::string>();
}

data::Recipe classification_recipe(const TaskInput& input) {
  const std::optional<GlueTask> glue = glue_task(input);
  const int64_t max_length = longest(input);
  const std::optional<LabelSet> kept = labels_of_model(input);
  const std::vector<std::string> of_model = order_of_model(input, glue);
  const bool always_regression = glue && glue->regression;
  data::Recipe recipe;
  recipe.task = "text-classification";
  recipe.length_flag = "--max_seq_length";
  recipe.options = {{"task_name", glue ? Json(glue->name) : Json()}, {"max_length", max_length}};
  if (!of_model.empty()) recipe.options["of_model"] = of_model;
  recipe.arrangement = data::Arrangement::kKeepRows;
  recipe.columns = [=](data::Split split) { return column_rule(glue, split); };
  if (kept) {
    recipe.facts = kept->to_json_value();
  } else {
    recipe.survey = [=](data::RowSource& rows, const std::function<bool()>& stopped) -> std::optional<Json> {
      const auto found = LabelSet::of_rows(rows, kColumns, kLabelCell, always_regression, stopped);
      return found ? std::optional(found->in_order_of(of_model).to_json_value()) : std::nullopt;
    };
  }
  recipe.encoder = [=](std::shared_ptr<const tokenizer::Tokenizer> tokenizer, data::Split split,
                       const Json& facts) -> std::unique_ptr<data::Encoder> {
    std::optional<LabelSet> labels;
    if (split != data::Split::kTest) labels = LabelSet::from_json(facts);
    if (labels && glue && kept) labels = labels->with_small_letters();
    return pair_encoder(
        std::move(tokenizer),
        {.max_length = max_length, .hint = "name the columns of the texts sentence1 and sentence2"},
        std::move(labels));
  };
  return recipe;
}

data::PaddingOptions classification_padding(const TaskInput& input, const Json& facts) {
  using Form = data::PaddedColumn::Form;
  const bool several = LabelSet::from_json(facts).kind() == LabelSet::Kind::kMultiLabel;
  data::PaddingOptions options = padded_sequences(input);
  options.columns.push_back({"labels", "labels", several ? Form::kVector : Form::kScalar});
  if (input.pad_to_max_length.value_or(true)) fix_length(options, longest(input));
  return options;
}

// Before the data are read a regression cannot be told from classes, unless its GLUE task says so.
std::optional<LabelSet> labels_known(const TaskInput& input, const Json& facts) {
  if (!facts.is_null()) return LabelSet::from_json(facts);
  return LabelSet::of_config(input.model_config);
}

std::string metric_of(const std::optional<GlueTask>& glue, LabelSet::Kind kind) {
  if (glue) return std::string("glue/") + glue->name;
  if (kind == LabelSet::Kind::kRegression) return "mse";
  return kind == LabelSet::Kind::kMultiLabel ? "f1" : "accuracy";
}

// What the metric of a GLUE task is made for.
void check_labels(const std::optional<GlueTask>& glue, LabelSet::Kind kind) {
  if (!glue) return;
  const bool classes = metrics::find_metric(metric_of(glue, kind)).input == metrics::MetricInput::kClasses;
  if (kind == (classes ? LabelSet::Kind::kClasses : LabelSet::Kind::kRegression)) return;
  throw Error(ExitCode::kData, std::string("the labels are not those of the GLUE task ") + glue->name)
      .where("column label")
      .why(std::string("its metrics are of ") + (classes ? "classes" : "numbers") + ", and the labels are " +
           (kind == LabelSet::Kind::kRegression   ? "numbers with a fraction"
            : kind == LabelSet::Kind::kMultiLabel ? "lists"
                                                  : "classes"))
      .hint("leave --task_name out for files of your own");
}

Scoring classification_scoring(const TaskInput& input, const Json& facts) {
  const std::optional<GlueTask> glue = glue_task(input);
  const std::optional<LabelSet> labels = labels_known(input, facts);
  const std::string file = "predict_results" + (glue ? std::string("_") + glue->name : "");
  if (labels) {
    check_labels(glue, labels->kind());
    return class_scoring({metric_of(glue, labels->kind()), *labels, file + ".txt", file + "-mm.txt"});
  }
  Scoring scoring;
  for (const auto kind :
       {LabelSet::Kind::kClasses, LabelSet::Kind::kRegression, LabelSet::Kind::kMultiLabel}) {
    for (const std::string_view key : metrics::find_metric(metric_of(glue, kind)).keys)
      scoring.metrics.emplace_back(key);
  }
  return scoring;
}

}  // namespace

TaskRow text_classification() {
  return {.task = Task::kTextClassification,
          .name = "text-classification",
          .head = architectures::Head::kSequenceClassification,
          .pipeline = "text-classification",
          .flags = {"task_name", "max_seq_length", "pad_to_max_length", "validation_mismatched_file",
                    "test_mismatched_file"},
          .recipe = classification_recipe,
          .padding = classification_padding,
          .longest = longest,
          .config_changes = [](const Json& facts) { return LabelSet::from_json(facts).config_changes(); },
          .scoring = classification_scoring,
          .scorer = make_class_scorer};
}

}  // namespace hftrain::tasks

#include "hftrain/tasks/described_task.h"

#include <set>
#include <utility>

#include "hftrain/arguments/task_words.h"
#include "hftrain/base/error.h"
#include "hftrain/metrics/metric_table.h"
#include "hftrain/tasks/class_scorer.h"
#include "hftrain/tasks/described_recipe.h"
#include "hftrain/tasks/padded_sequences.h"
#include "hftrain/tasks/tag_scorer.h"
#include "hftrain/tasks/task_table.h"
#include "hftrain/tasks/token_scorer.h"

namespace hftrain::tasks {
namespace {

using Labels = TaskDescription::Labels;

constexpr int64_t kNumberOfState = sizeof(double), kNumbersBesideSample = 8;
constexpr int64_t kPadOfLabels = -100;

std::deque<TaskDescription>& descriptions() {
  static std::deque<TaskDescription> tasks;
  return tasks;
}

bool are_of_tokens(Labels labels) {
  return labels == Labels::kWordNames || labels == Labels::kText;
}

data::PaddingOptions padding_described(const TaskDescription& task, const TaskInput& input) {
  using Form = data::PaddedColumn::Form;
  data::PaddingOptions options = padded_sequences(input);
  const bool one = task.labels == Labels::kName || task.labels == Labels::kNumber;
  const Form form = are_of_tokens(task.labels) ? Form::kSequence : one ? Form::kScalar : Form::kVector;
  options.columns.push_back({"labels", "labels", form, form == Form::kSequence ? kPadOfLabels : 0});
  // Behind a text, whatever the tokenizer says: what comes before it then does not see padding.
  if (task.labels == Labels::kText) options.on_left = false;
  if (input.pad_to_max_length.value_or(task.pads_to_length))
    fix_length(options, longest_described(task, input));
  return options;
}

Json config_of_labels(const TaskDescription& task, const Json& labels) {
  return task.labels == Labels::kWordNames ? TagSet::from_json(labels).config_changes()
                                           : LabelSet::from_json(labels).config_changes();
}

// Before anything is trained that the first evaluation would end.
void check_two_classes(const TaskDescription& task, const LabelSet& labels) {
  const bool of_two = task.metric == "precision" || task.metric == "recall" || task.metric == "f1";
  if (!of_two || labels.kind() != LabelSet::Kind::kClasses || labels.size() == 2) return;
  throw Error(ExitCode::kUsage, "the metric " + task.metric + " is of two classes")
      .where("--task " + task.name)
      .why("the plug-in describes it with this metric, and there are " + std::to_string(labels.size()) +
           " labels")
      .hint("accuracy or matthews_correlation in the description, or a metric that the plug-in registers");
}

// What hftrain judges by itself; `labels` are null before the data are read.
Scoring scoring_of_head(const TaskDescription& task, const TaskInput& input, const Json& labels) {
  if (task.labels == Labels::kText) return token_scoring();
  if (task.labels == Labels::kWordNames)
    return tag_scoring(
        {.tags = labels.is_null() ? std::vector<std::string>() : TagSet::from_json(labels).names(),
         .pads_on_left = input.pads_on_left,
         .longest = longest_described(task, input)});
  if (!labels.is_null()) {
    check_two_classes(task, LabelSet::from_json(labels));
    return class_scoring({.metric = task.metric,
                          .labels = LabelSet::from_json(labels),
                          .predictions_file = "predict_results.txt",
                          .keeps_scores = task.keeps_scores});
  }
  Scoring scoring;
  const metrics::MetricEntry& metric = metrics::find_metric(task.metric);
  scoring.metrics.assign(metric.keys.begin(), metric.keys.end());
  return scoring;
}

// The plug-in's metrics look at all outputs and labels.
int64_t bytes_for_metrics(const TaskDescription& task, const TaskInput& input, const Json& labels) {
  if (are_of_tokens(task.labels))
    return (2 * longest_described(task, input) + kNumbersBesideSample) * kNumberOfState;
  const int64_t outputs = labels.is_null() ? 1 : LabelSet::from_json(labels).size();
  return (2 * outputs + kNumbersBesideSample) * kNumberOfState;
}

Scoring scoring_described(const TaskDescription& task, const TaskInput& input, const Json& labels) {
  Scoring scoring = scoring_of_head(task, input, labels);
  if (task.metrics.empty()) return scoring;
  if (input.arguments.evaluation.batch_eval_metrics)
    throw Error(ExitCode::kUsage, "--batch_eval_metrics and metrics of a plug-in do not go together")
        .where("--batch_eval_metrics")
        .why("it judges what one rank has so far, and those of --task " + task.name + " judge a whole split")
        .hint("leave the flag out");
  scoring.metrics.insert(scoring.metrics.end(), task.metrics.begin(), task.metrics.end());
  scoring.bytes_per_sample += bytes_for_metrics(task, input, labels);
  return scoring;
}

std::unique_ptr<Scorer> scorer_described(const TaskDescription& task, const ScorerInput& input) {
  if (task.labels == Labels::kText) return make_token_scorer(Predicts::kNextToken);
  return task.labels == Labels::kWordNames ? make_tag_scorer(input) : make_class_scorer(input);
}

// `task` lives as long as the process.
TaskRow row_described(const TaskDescription& task) {
  TaskRow row{
      .name = task.name,
      .head = task.head,
      .pipeline = task.pipeline,
      .flags = {"max_seq_length", "pad_to_max_length"},
      .recipe = [&task](const TaskInput& input) { return described_recipe(task, input); },
      .recipe_again = described_recipe_again,
      .padding = [&task](const TaskInput& input, const Json&) { return padding_described(task, input); },
      .longest = [&task](const TaskInput& input) { return longest_described(task, input); },
      .scoring = [&task](const TaskInput& input,
                         const Json& labels) { return scoring_described(task, input, labels); },
      .scorer = [&task](const ScorerInput& input) { return scorer_described(task, input); }};
  if (task.labels != Labels::kText)
    row.config_changes = [&task](const Json& labels) { return config_of_labels(task, labels); };
  return row;
}

void refuse_taken_name(const std::string& name, const std::string& origin) {
  const bool is_default = name == "null";  // as everywhere
  const bool translates = arguments::languages_of(name).has_value();
  if (!is_default && !translates && !task_named(name)) return;
  throw Error(ExitCode::kUsage, "the plug-in describes no task that can be trained")
      .where(origin)
      .why(is_default   ? "it is called 'null', and `--task null` stands for the flag's default"
           : translates ? "`--task " + name + "` is translation of these languages"
                        : "a task is called '" + name + "' already")
      .hint("a name of its own");
}

}  // namespace

void add_described_task(const std::string& description, const std::string& origin) {
  static std::set<std::string> added;
  if (added.count(description) > 0) return;
  TaskDescription task = read_task_description(description, origin);
  refuse_taken_name(task.name, origin);
  add_row(row_described(descriptions().emplace_back(std::move(task))));
  added.insert(description);
}

const TaskDescription* description_of(Task task) {
  const size_t number = static_cast<size_t>(task), own = static_cast<size_t>(Task::kDescribed);
  return number < own ? nullptr : &descriptions().at(number - own);
}

const std::deque<TaskDescription>& described_tasks() {
  return descriptions();
}

}  // namespace hftrain::tasks

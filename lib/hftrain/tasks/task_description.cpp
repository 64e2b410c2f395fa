#include "hftrain/tasks/task_description.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "hftrain/base/text.h"
#include "hftrain/metrics/metric_table.h"
#include "hftrain/tasks/description_keys.h"

namespace hftrain::tasks {
namespace {

using architectures::Head;
using Labels = TaskDescription::Labels;

constexpr int64_t kUsualLength = 128, kMostLength = int64_t{1} << 20;  // tokens
constexpr size_t kMostNames = 100'000;

// What a head is trained to say, by the word of `kind`.
struct LabelWord {
  Head head;
  std::string_view word;
  Labels labels;
  std::string_view metric;  // where none is named; empty: it is not chosen
  std::string_view pipeline;
  std::string_view judged_by = metric;  // of hftrain's table, where none is named
};
constexpr LabelWord kLabelWords[] = {
    {Head::kSequenceClassification, "name", Labels::kName, "accuracy", "text-classification"},
    {Head::kSequenceClassification, "names", Labels::kNames, "f1", "text-classification"},
    {Head::kSequenceClassification, "number", Labels::kNumber, "mse", "text-classification"},
    {Head::kSequenceClassification, "numbers", Labels::kNumbers, "mse", "text-classification"},
    {Head::kTokenClassification, "names", Labels::kWordNames, "", "token-classification", "seqeval"},
    {Head::kCausalLm, "text", Labels::kText, "", "text-generation", "accuracy"},
};

struct TruncationWord {
  std::string_view word;
  tokenizer::TruncationStrategy strategy;
};
constexpr TruncationWord kTruncationWords[] = {
    {"longest_first", tokenizer::TruncationStrategy::kLongestFirst},
    {"only_first", tokenizer::TruncationStrategy::kOnlyFirst},
    {"only_second", tokenizer::TruncationStrategy::kOnlySecond}};

class DescriptionReader : private DescriptionKeys {
 public:
  DescriptionReader(const std::string& text, std::string origin)
      : DescriptionKeys(std::move(origin)), json_(object_of(text)) {}

  TaskDescription read() {
    check_keys(json_, "",
               {"name", "head", "text", "labels", "max_length", "truncation", "padding", "metric", "metrics",
                "keeps", "pipeline"});
    TaskDescription task;
    task.name = plain_word(needed(json_, "name"), "name");
    read_head(task);
    read_texts(task);
    read_labels(task, needed(json_, "labels"));
    read_length(task);
    read_metrics(task);
    return task;
  }

 private:
  void read_head(TaskDescription& task) const {
    const std::string word = text(needed(json_, "head"), "head");
    std::vector<std::string> known;
    for (const LabelWord& row : kLabelWords) {
      const std::string name(architectures::head_word(row.head));
      if (std::ranges::find(known, name) == known.end()) known.push_back(name);
      if (name == word) task.head = row.head;
    }
    if (std::ranges::find(known, word) == known.end())
      throw bad_key("head", '"' + word + '"', "one of " + join(known, ", "));
  }

  void read_texts(TaskDescription& task) const {
    task.texts = texts(needed(json_, "text"), "text", task.head == Head::kSequenceClassification ? 2 : 1);
  }

  void read_labels(TaskDescription& task, const Json& labels) const {
    if (!labels.is_object()) throw bad_key("labels", labels.dump(), R"({"column": "…", "kind": "…"})");
    check_keys(labels, "labels.", {"column", "kind", "names"});
    const LabelWord& row = read_kind(task.head, labels);
    task.labels = row.labels;
    task.pipeline = json_.contains("pipeline") ? plain_word(json_["pipeline"], "pipeline") : row.pipeline;
    const bool several = row.labels == Labels::kNumbers;
    task.label_columns =
        texts(needed(labels, "column", "labels."), "labels.column", several ? kMostNames : 1);
    for (const std::string& column : task.label_columns) {
      if (std::ranges::find(task.texts, column) != task.texts.end())
        throw bad_key("labels.column", '"' + column + '"', "another column than that of the text");
    }
    read_names(task, labels);
  }

  const LabelWord& read_kind(Head head, const Json& labels) const {
    const std::string word = text(needed(labels, "kind", "labels."), "labels.kind");
    std::vector<std::string> of_head;
    for (const LabelWord& row : kLabelWords) {
      if (row.head != head) continue;
      if (row.word == word) return row;
      of_head.emplace_back(row.word);
    }
    throw bad_key("labels.kind", '"' + word + '"',
                  "of the head " + std::string(architectures::head_word(head)) + ": " + join(of_head, ", "));
  }

  // Of several numbers in columns the columns are their names; in a list they have none but these.
  void read_names(TaskDescription& task, const Json& labels) const {
    const bool in_columns = task.labels == Labels::kNumbers && task.label_columns.size() > 1;
    const bool nameless = task.labels == Labels::kNumber || task.labels == Labels::kText;
    if (labels.contains("names")) {
      if (nameless || in_columns)
        throw bad_key("labels.names", labels["names"].dump(),
                      in_columns ? "leave it out: numbers in columns of their own are called as these are"
                                 : "leave it out: these labels have no names");
      task.names = texts(labels["names"], "labels.names", kMostNames);
      if (task.labels == Labels::kName && task.names.size() < 2)
        throw bad_key("labels.names", labels["names"].dump(), "two names at least");
    } else if (in_columns) {
      task.names = task.label_columns;
    } else if (task.labels == Labels::kNumbers) {
      throw no_task("it lacks the key 'labels.names'",
                    "a name for each number of the list, or in 'labels.column' a column for each");
    }
  }

  void read_length(TaskDescription& task) const {
    const Json length = json_.value("max_length", Json(kUsualLength));
    if (!length.is_number_integer() || length < 2 || length > kMostLength)
      throw bad_key("max_length", length.dump(), "a number of tokens, from 2 on");
    task.max_length = length.get<int64_t>();
    const Json padding = json_.value("padding", Json("longest"));
    if (padding != "longest" && padding != "max_length")
      throw bad_key("padding", padding.dump(), "longest (of the batch) or max_length");
    task.pads_to_length = padding == "max_length";
    if (json_.contains("truncation")) read_truncation(task, json_["truncation"]);
  }

  void read_truncation(TaskDescription& task, const Json& written) const {
    const std::string word = text(written, "truncation");
    const auto found =
        std::ranges::find_if(kTruncationWords, [&](const TruncationWord& row) { return row.word == word; });
    if (found == std::end(kTruncationWords) || task.texts.size() < 2)
      throw bad_key("truncation", written.dump(),
                    task.texts.size() < 2 ? "leave it out: there is one text to cut"
                                          : "longest_first, only_first or only_second");
    task.truncation = found->strategy;
  }

  void read_metrics(TaskDescription& task) const {
    const auto row = std::ranges::find_if(kLabelWords, [&](const LabelWord& one) {
      return one.head == task.head && one.labels == task.labels;
    });
    task.metric = row->metric;
    if (json_.contains("metric")) task.metric = read_metric(*row);
    if (json_.contains("metrics")) {
      task.metrics = texts(json_["metrics"], "metrics", kMostNames);
      const std::string_view by = task.metric.empty() ? row->judged_by : std::string_view(task.metric);
      for (const std::string& name : task.metrics) plain_name(name, metrics::find_metric(by).keys);
    }
    const Json keeps = json_.value("keeps", Json("best"));
    const bool scores = keeps == "scores";
    if (!scores && keeps != "best") throw bad_key("keeps", keeps.dump(), "best or scores");
    if (json_.contains("keeps") && task.labels != Labels::kName)
      throw bad_key("keeps", keeps.dump(), "leave it out: only of labels of the kind name there is a choice");
    task.keeps_scores = scores;
  }

  // As log records call them behind eval_, beside those that hftrain reports.
  template <typename Keys>
  void plain_name(const std::string& name, const Keys& reported) const {
    const bool plain = std::ranges::all_of(name, [](unsigned char c) { return c > ' ' && c != 0x7f; });
    const bool taken = is_evaluation_record(name) || std::ranges::find(reported, name) != reported.end();
    if (!plain) throw bad_key("metrics", '"' + name + '"', "names without spaces");
    if (taken) throw bad_key("metrics", '"' + name + '"', "another name: evaluation reports this one itself");
  }

  std::string read_metric(const LabelWord& row) const {
    const std::string name = text(json_["metric"], "metric");
    if (row.metric.empty())
      throw bad_key("metric", '"' + name + '"', "leave it out: that of this head is always reported");
    const metrics::MetricInput input = metrics::find_metric(row.metric).input;
    std::vector<std::string> known;
    for (const metrics::MetricEntry& entry : metrics::metric_table()) {
      const bool of_glue = entry.name.find('/') != entry.name.npos;
      if (entry.input == input && !of_glue) known.emplace_back(entry.name);
    }
    if (std::ranges::find(known, name) != known.end()) return name;
    throw bad_key("metric", '"' + name + '"',
                  "of labels of the kind " + std::string(row.word) + ": " + join(known, ", ") +
                      "; what the plug-in computes stands in 'metrics'");
  }

  Json json_;
};

}  // namespace

TaskDescription read_task_description(const std::string& text, const std::string& origin) {
  return DescriptionReader(text, origin).read();
}

}  // namespace hftrain::tasks

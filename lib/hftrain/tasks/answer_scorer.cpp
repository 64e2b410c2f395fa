#include "hftrain/tasks/answer_scorer.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/metrics/metric_table.h"
#include "hftrain/tasks/question_encoder.h"

namespace hftrain::tasks {
namespace {

using metrics::AnswerPrediction;
using metrics::AnswerRules;
using metrics::AnswerSpan;
using metrics::FeatureAnswers;

const char* metric_name(bool version_2_with_negative) {
  return version_2_with_negative ? "squad_v2" : "squad";
}

AnswerRules rules_of(const Json& options) {
  return {.n_best_size = options.at("n_best_size").get<int>(),
          .max_answer_length = options.at("max_answer_length").get<int>(),
          .version_2_with_negative = options.at("version_2_with_negative").get<bool>(),
          .null_score_diff_threshold = options.at("null_score_diff_threshold").get<double>()};
}

std::vector<int64_t> column_numbers(const data::Dataset& dataset, const char* column, int64_t sample) {
  const data::ColumnFile& file = dataset.column(column);
  std::vector<int64_t> numbers(static_cast<size_t>(file.length(sample)));
  file.copy_to(sample, numbers.data());
  return numbers;
}

std::string column_text(const data::Dataset& dataset, const char* column, int64_t sample) {
  const std::vector<int64_t> bytes = column_numbers(dataset, column, sample);
  std::string text(bytes.size(), '\0');
  std::transform(bytes.begin(), bytes.end(), text.begin(),
                 [](int64_t byte) { return static_cast<char>(byte); });
  return text;
}

// Files as the script has them: an object with a line for each question, in the order of the questions.
class QuestionFile {
 public:
  void add(const std::string& id, const Json& value) {
    text_ += (text_.empty() ? "{\n    " : ",\n    ") + dump_json(id, -1) + ": " + indented(value);
  }
  std::string text() const { return (text_.empty() ? "{" : text_ + '\n') + "}\n"; }

 private:
  static std::string indented(const Json& value) {
    constexpr int kIndent = 4;
    const std::string lines = dump_json(value, kIndent);
    std::string moved;
    for (const char c : lines) {
      moved += c;
      if (c == '\n') moved.append(kIndent, ' ');
    }
    return moved;
  }

  std::string text_;
};

Json json_of(const std::vector<metrics::AnswerCandidate>& candidates) {
  Json list = Json::array();
  for (const metrics::AnswerCandidate& one : candidates)
    list.push_back({{"text", one.text},
                    {"start_logit", one.start_logit},
                    {"end_logit", one.end_logit},
                    {"probability", one.probability}});
  return list;
}

class AnswerScorer final : public Scorer {
 public:
  AnswerScorer(AnswerRules rules, std::shared_ptr<const data::Dataset> dataset, bool context_first)
      : rules_(rules), dataset_(std::move(dataset)), context_first_(context_first) {}

  void add(const OutputBatch& batch) override {
    const auto length = batch.output.sizes.at(0);
    if (batch.output.sizes.size() != 2 || batch.output.sizes[1] != 2)
      throw std::invalid_argument("answers are read from two scores for every token");
    for (size_t i = 0; i < batch.samples.size(); ++i) {
      const auto size = static_cast<size_t>(2 * length);
      windows_[batch.samples[i]] = answers_of(batch.samples[i], batch.output.scores.subspan(i * size, size));
    }
  }

  // For each window its sample, its logits of "no answer", how many answers there are, and these.
  std::vector<double> state() const override {
    std::vector<double> state;
    for (const auto& [sample, window] : windows_) {
      state.insert(state.end(), {static_cast<double>(sample), window.none->start_logit,
                                 window.none->end_logit, static_cast<double>(window.best.size())});
      for (const AnswerSpan& answer : window.best)
        state.insert(state.end(),
                     {static_cast<double>(answer.span.begin), static_cast<double>(answer.span.end),
                      answer.start_logit, answer.end_logit});
    }
    return state;
  }

  void merge(std::span<const double> state) override {
    constexpr size_t kNumbers = 4;  // of a window, and of an answer
    const auto take = [&] {
      if (state.size() < kNumbers) throw std::invalid_argument("the state of another scorer");
      const auto numbers = state.first(kNumbers);
      state = state.subspan(kNumbers);
      return numbers;
    };
    while (!state.empty()) {
      const auto window = take();
      FeatureAnswers answers;
      answers.none = AnswerSpan{{0, 0}, static_cast<float>(window[1]), static_cast<float>(window[2])};
      for (auto left = static_cast<int64_t>(window[3]); left > 0; --left) {
        const auto one = take();
        answers.best.push_back({{static_cast<int64_t>(one[0]), static_cast<int64_t>(one[1])},
                                static_cast<float>(one[2]),
                                static_cast<float>(one[3])});
      }
      windows_[static_cast<int64_t>(window[0])] = std::move(answers);
    }
  }

  bool judges_by_itself() const override { return true; }

  metrics::MetricResults results() const override {
    const auto metric = metrics::make_metric(metric_name(rules_.version_2_with_negative));
    bool known = !windows_.empty();
    visit([&](int64_t first, const AnswerPrediction& prediction) {
      const std::string answers = column_text(*dataset_, kAnswerTexts, first);
      known = known && !answers.empty();
      if (!known) return;
      const std::vector<std::string> texts{prediction.text};
      const std::vector<std::vector<std::string>> references{
          parse_json(answers, "the prepared data").get<std::vector<std::string>>()};
      // Only test data may have such a question in version 1.1, and it cannot be judged there.
      known = rules_.version_2_with_negative || !references.front().empty();
      if (!known) return;
      metric->add(
          metrics::AnswerBatch{.predictions = texts, .references = references, .positions = {&first, 1}});
    });
    return known ? metric->compute() : metrics::MetricResults{};
  }

  std::vector<ResultFile> files(std::string_view prefix) const override {
    QuestionFile predictions, n_best, odds;
    visit([&](int64_t first, const AnswerPrediction& prediction) {
      const std::string id = column_text(*dataset_, kQuestionId, first);
      predictions.add(id, prediction.text);
      n_best.add(id, json_of(prediction.n_best));
      if (prediction.null_odds) odds.add(id, *prediction.null_odds);
    });
    const std::string begin(prefix);
    std::vector<ResultFile> files = {{begin + "_predictions.json", predictions.text()},
                                     {begin + "_nbest_predictions.json", n_best.text()}};
    if (rules_.version_2_with_negative) files.push_back({begin + "_null_odds.json", odds.text()});
    return files;
  }

 private:
  FeatureAnswers answers_of(int64_t sample, std::span<const float> scores) const {
    const size_t length = scores.size() / 2;
    std::vector<float> starts(length), ends(length);
    for (size_t i = 0; i < length; ++i) {
      starts[i] = scores[2 * i];
      ends[i] = scores[2 * i + 1];
    }
    const std::vector<int64_t> numbers = column_numbers(*dataset_, kSpans, sample);
    const size_t tokens = numbers.size() / 2;
    if (tokens > length) throw std::invalid_argument("a window has more tokens than scores");
    std::vector<metrics::ContextSpan> spans(length);
    const size_t padding = context_first_ ? length - tokens : 0;
    for (size_t i = 0; i < tokens; ++i) spans[padding + i] = {numbers[2 * i], numbers[2 * i + 1]};
    return feature_answers({starts, ends, spans}, rules_);
  }

  // For each question, in their order, its first sample and what is answered.
  template <typename Visitor>
  void visit(Visitor visitor) const {
    for (auto window = windows_.begin(); window != windows_.end();) {
      const int64_t first = window->first;
      std::vector<FeatureAnswers> pieces{(window++)->second};
      while (window != windows_.end() && column_numbers(*dataset_, kWindow, window->first).at(0) > 0)
        pieces.push_back((window++)->second);
      visitor(first, metrics::answer_of_pieces(column_text(*dataset_, kContextText, first), pieces, rules_));
    }
  }

  AnswerRules rules_;
  std::shared_ptr<const data::Dataset> dataset_;
  bool context_first_;  // batches are padded on the left
  std::map<int64_t, FeatureAnswers> windows_;
};

}  // namespace

Scoring answer_scoring(const TaskInput& input) {
  const arguments::EvaluationArguments& asked = input.arguments.evaluation;
  const bool negative = input.arguments.data.version_2_with_negative;
  constexpr int64_t kNumberBytes = sizeof(double), kNumbers = 4;  // of a window, and of an answer
  constexpr int64_t kWrittenAnswer = 256;  // of the n-best file: keys, numbers, some words
  const metrics::MetricEntry& metric = metrics::find_metric(metric_name(negative));
  Scoring scoring;
  scoring.outputs = OutputForm::kScores;
  scoring.metrics.assign(metric.keys.begin(), metric.keys.end());
  scoring.bytes_per_sample = kNumberBytes * kNumbers * (1 + asked.n_best_size);
  scoring.bytes_per_written_sample = kWrittenAnswer * asked.n_best_size;
  scoring.options = {{"n_best_size", asked.n_best_size},
                     {"max_answer_length", asked.max_answer_length},
                     {"version_2_with_negative", negative},
                     {"null_score_diff_threshold", asked.null_score_diff_threshold},
                     {"context_first", input.pads_on_left}};
  return scoring;
}

std::unique_ptr<Scorer> answer_scorer(const ScorerInput& input) {
  return std::make_unique<AnswerScorer>(rules_of(input.options), input.dataset,
                                        input.options.at("context_first").get<bool>());
}

}  // namespace hftrain::tasks

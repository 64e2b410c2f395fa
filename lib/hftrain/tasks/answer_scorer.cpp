#include "hftrain/tasks/answer_scorer.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "hftrain/metrics/metric_table.h"
#include "hftrain/tasks/answer_files.h"
#include "hftrain/tasks/answer_judge.h"
#include "hftrain/tasks/question_encoder.h"

namespace hftrain::tasks {
namespace {

using metrics::AnswerPrediction;
using metrics::AnswerRules;
using metrics::AnswerSpan;
using metrics::FeatureAnswers;

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

class AnswerScorer final : public Scorer {
 public:
  AnswerScorer(AnswerRules rules, std::shared_ptr<const data::Dataset> dataset, bool context_first)
      : rules_(rules),
        dataset_(std::move(dataset)),
        context_first_(context_first),
        judged_(rules.version_2_with_negative) {}

  void add(const OutputBatch& batch) override {
    const auto length = batch.output.sizes.at(0);
    if (batch.output.sizes.size() != 2 || batch.output.sizes[1] != 2)
      throw std::invalid_argument("answers are read from two scores for every token");
    for (size_t i = 0; i < batch.samples.size(); ++i) {
      const auto size = static_cast<size_t>(2 * length);
      windows_[batch.samples[i]] = answers_of(batch.samples[i], batch.output.scores.subspan(i * size, size));
    }
    if (has_all_) judge_complete();
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
    if (has_all_) judge_complete();
  }

  bool goes_in_pieces() const override { return true; }
  void forget() override { windows_.clear(); }
  void expect_all(const ResultPlace* place) override {
    has_all_ = true;
    if (place != nullptr) files_ = std::make_unique<AnswerFiles>(*place, rules_.version_2_with_negative);
  }

  bool judges_by_itself() const override { return true; }

  metrics::MetricResults results() const override {
    AnswerJudge judge(rules_.version_2_with_negative);
    judge.merge(judged_);
    visit_rest([&](int64_t first, const AnswerPrediction& prediction) {
      judge.add(first, prediction.text, column_text(*dataset_, kAnswerTexts, first));
    });
    return judge.results();
  }

  std::vector<ResultFile> files(std::string_view /*prefix*/) const override {
    if (!files_) return {};
    visit_rest([&](int64_t first, const AnswerPrediction& prediction) {
      files_->add(column_text(*dataset_, kQuestionId, first), prediction);
    });
    return files_->end();
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

  // The questions that are next and whose windows are all there: nothing more is kept of them.
  void judge_complete() {
    while (!windows_.empty() && windows_.begin()->first == next_) {
      std::vector<FeatureAnswers> pieces;
      auto window = windows_.begin();
      int64_t sample = next_;
      do {
        if (window == windows_.end() || window->first != sample) return;
        pieces.push_back((window++)->second);
      } while (++sample < dataset_->size() && continues(sample));
      const AnswerPrediction prediction = answer(next_, pieces);
      judged_.add(next_, prediction.text, column_text(*dataset_, kAnswerTexts, next_));
      if (files_) files_->add(column_text(*dataset_, kQuestionId, next_), prediction);
      windows_.erase(windows_.begin(), window);
      next_ = sample;
    }
  }

  // For each question that was not judged, in their order, its first sample and what is answered.
  template <typename Visitor>
  void visit_rest(Visitor visitor) const {
    for (auto window = windows_.begin(); window != windows_.end();) {
      const int64_t first = window->first;
      std::vector<FeatureAnswers> pieces{(window++)->second};
      while (window != windows_.end() && continues(window->first)) pieces.push_back((window++)->second);
      visitor(first, answer(first, pieces));
    }
  }

  // Whether the sample is a further window of the question of the one before it.
  bool continues(int64_t sample) const { return column_numbers(*dataset_, kWindow, sample).at(0) > 0; }
  AnswerPrediction answer(int64_t first, const std::vector<FeatureAnswers>& pieces) const {
    return metrics::answer_of_pieces(column_text(*dataset_, kContextText, first), pieces, rules_);
  }

  AnswerRules rules_;
  std::shared_ptr<const data::Dataset> dataset_;
  bool context_first_;  // batches are padded on the left
  bool has_all_ = false;
  std::map<int64_t, FeatureAnswers> windows_;  // those of questions that were not judged
  int64_t next_ = 0;                           // the first sample of them
  AnswerJudge judged_;
  std::unique_ptr<AnswerFiles> files_;
};

}  // namespace

Scoring answer_scoring(const TaskInput& input) {
  const arguments::EvaluationArguments& asked = input.arguments.evaluation;
  const bool negative = input.arguments.data.version_2_with_negative;
  constexpr int64_t kNumberBytes = sizeof(double), kNumbers = 4;  // of a window, and of an answer
  const metrics::MetricEntry& metric = metrics::find_metric(answer_metric_name(negative));
  Scoring scoring;
  scoring.outputs = OutputForm::kScores;
  scoring.metrics.assign(metric.keys.begin(), metric.keys.end());
  scoring.bytes_per_sample = metrics::bytes_per_example(answer_metric_name(negative));
  scoring.bytes_per_pending_sample = kNumberBytes * kNumbers * (1 + asked.n_best_size);
  scoring.writes_files = true;
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

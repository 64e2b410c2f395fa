#include "hftrain/tasks/answer_judge.h"

#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/metrics/metric_table.h"

namespace hftrain::tasks {

const char* answer_metric_name(bool version_2_with_negative) {
  return version_2_with_negative ? "squad_v2" : "squad";
}

AnswerJudge::AnswerJudge(bool version_2_with_negative)
    : version_2_with_negative_(version_2_with_negative),
      metric_(metrics::make_metric(answer_metric_name(version_2_with_negative))) {}

void AnswerJudge::add(int64_t sample, const std::string& answer, const std::string& references) {
  ++questions_;
  known_ = known_ && !references.empty();
  if (!known_) return;
  const std::vector<std::string> texts{answer};
  const std::vector<std::vector<std::string>> accepted{
      parse_json(references, "the prepared data").get<std::vector<std::string>>()};
  // Only test data may have such a question in version 1.1, and it cannot be judged there.
  known_ = version_2_with_negative_ || !accepted.front().empty();
  if (!known_) return;
  metric_->add(metrics::AnswerBatch{.predictions = texts, .references = accepted, .positions = {&sample, 1}});
}

void AnswerJudge::merge(const AnswerJudge& other) {
  questions_ += other.questions_;
  known_ = known_ && other.known_;
  metric_->merge(other.metric_->state());
}

metrics::MetricResults AnswerJudge::results() const {
  return known_ && questions_ > 0 ? metric_->compute() : metrics::MetricResults{};
}

}  // namespace hftrain::tasks

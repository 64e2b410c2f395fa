// SQuAD's metrics of answers, question by question.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hftrain/metrics/metric.h"

namespace hftrain::tasks {

const char* answer_metric_name(bool version_2_with_negative);

// Judges nothing once a question has come whose answers are not known. Used by one thread.
class AnswerJudge {
 public:
  explicit AnswerJudge(bool version_2_with_negative);

  // `answer` to the question that begins at `sample`; `references`: its answers as the prepared data have them, a
  // JSON list of texts, or empty where they are not known.
  void add(int64_t sample, const std::string& answer, const std::string& references);
  // Takes in what another one has judged before.
  void merge(const AnswerJudge& other);
  // None of no question, or where not all answers are known.
  metrics::MetricResults results() const;

 private:
  bool version_2_with_negative_;
  bool known_ = true;
  int64_t questions_ = 0;
  std::unique_ptr<metrics::Metric> metric_;
};

}  // namespace hftrain::tasks

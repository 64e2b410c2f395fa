// What is written of answers to questions: PREFIX_predictions.json, PREFIX_nbest_predictions.json and, where
// questions may have no answer, PREFIX_null_odds.json. Each is an object with a line for each question.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hftrain/metrics/answer_candidates.h"
#include "hftrain/tasks/scorer.h"

namespace hftrain::tasks {

// Written while questions are answered, so that no more than a line of each file is in memory. Used by one thread.
class AnswerFiles {
 public:
  AnswerFiles(const ResultPlace& place, bool with_odds);

  // The next question.
  void add(const std::string& id, const metrics::AnswerPrediction& prediction);
  // Ends them; no question can follow.
  std::vector<ResultFile> end();

 private:
  // One object.
  class QuestionFile {
   public:
    QuestionFile(const ResultPlace& place, const std::string& name);
    void add(const std::string& id, const Json& value);
    ResultFile end();

   private:
    std::string name_;
    std::shared_ptr<GrowingFile> file_;
    bool empty_ = true;
  };

  QuestionFile predictions_, n_best_;
  std::unique_ptr<QuestionFile> odds_;
};

}  // namespace hftrain::tasks

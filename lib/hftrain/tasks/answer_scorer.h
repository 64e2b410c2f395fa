// Judges the answers of question answering and writes them: eval_predictions.json, eval_nbest_predictions.json
// and, where questions may have no answer, eval_null_odds.json.
#pragma once

#include <memory>

#include "hftrain/metrics/answer_candidates.h"
#include "hftrain/tasks/scorer.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::tasks {

// Of the logits of a window only its n_best_size best answers are kept. A split whose answers are not known is
// not judged. Questions whose windows were not evaluated (--max_eval_samples) do not count.
Scoring answer_scoring(const TaskInput& input);
std::unique_ptr<Scorer> answer_scorer(const ScorerInput& input);

}  // namespace hftrain::tasks

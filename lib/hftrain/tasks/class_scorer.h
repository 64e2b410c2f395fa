// Judges what is said of a whole sample: a class, several labels at once, or a number.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hftrain/tasks/label_set.h"
#include "hftrain/tasks/scorer.h"

namespace hftrain::tasks {

// A metric by its name in the table of metrics: of classes for kClasses and kMultiLabel, of numbers for
// kRegression and kNumbers, all of a sample's numbers alike. Several labels at once are judged label by label, as if each were a question of its own with the
// answers 0 and 1 (the micro average); a score above 0 is a 1.
struct ClassScoring {
  std::string metric;
  LabelSet labels;
  // Where predictions are written, "index\tprediction" and a line for each sample; empty: nowhere.
  std::string predictions_file;
  std::string mismatched_file = "";  // the same of the second test set, where the task has one
  bool keeps_scores = false;         // of kClasses: kScores, for who judges more than the best of them
};

// kBestIds of one id a sample for classes, unless scores are kept; else kScores of as many as there are labels.
Scoring class_scoring(const ClassScoring& wanted);
// `options`: those of class_scoring(). Predictions are kept where the input says that files are asked for.
std::unique_ptr<Scorer> make_class_scorer(const ScorerInput& input);

}  // namespace hftrain::tasks

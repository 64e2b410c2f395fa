// What the evaluation of tags reports: the entities of the seqeval package, as run_ner has them.
#pragma once

#include <memory>

#include "hftrain/tasks/scorer.h"
#include "hftrain/tasks/tag_set.h"

namespace hftrain::tasks {

struct TagScoring {
  std::vector<std::string> tags;  // by number; empty: not known yet
  bool entity_level = false;      // every type of entities, not only all together
  bool pads_on_left = false;      // batches are padded there
  int64_t longest = 0;            // tokens of a row
};

// The files of a test split: predictions.txt, a line for each row.
Scoring tag_scoring(const TagScoring& wanted);
std::unique_ptr<Scorer> make_tag_scorer(const ScorerInput& input);

}  // namespace hftrain::tasks

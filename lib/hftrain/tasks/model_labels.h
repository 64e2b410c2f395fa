// The labels of a run that does not train: those of its model.
#pragma once

#include <optional>

#include "hftrain/tasks/label_set.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::tasks {

// Nothing where training data say which labels there are: of a run that trains, or that names such data beside a model whose
// config names no labels. Else those that its config names, or 0, 1, … where it only counts them, as transformers saves a
// classifier whose labels nobody named. Error (exit code 4) of a model without labels.
std::optional<LabelSet> labels_of_model(const TaskInput& input);

// Of a run whose labels are known without the model: one that does not train needs a model that was saved with the head of the
// task, or training data beside it, as above. Error (exit code 4).
void require_trained_head(const TaskInput& input);

}  // namespace hftrain::tasks

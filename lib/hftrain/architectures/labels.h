// What config.json says of the labels that a classifying head chooses among.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hftrain/architectures/head.h"
#include "hftrain/base/json.h"

namespace hftrain::architectures {

enum class ProblemType { kRegression, kSingleLabel, kMultiLabel };

constexpr int64_t kUnnamedLabels = 2;  // that a config has without a word

struct Labels {
  int64_t count = 2;
  // Of sequence and image classification; unset: one label is a regression, else whole labels are classes and float ones
  // several labels at once.
  std::optional<ProblemType> problem;
  double dropout = 0.1;  // before the head's matrix, of token classification
};

// Reads id2label, num_labels, problem_type and the dropout of a complete config for `head`, and leaves in it what
// transformers 5.17 writes: id2label and label2id unless they are the two unnamed ones, no num_labels. Bad values
// are an Error (exit code 4) that names `origin`. A config of a head without labels is left
// alone, but for answers: transformers gives them as many scores as there are labels, so other than two are left out.
// A family whose default is another number of labels has it in every config.
Labels normalise_labels(Head head, int64_t default_labels, Json& config, const std::string& origin);

}  // namespace hftrain::architectures

// A task: texts of a title and a body, each about several topics at once. Overlooking a topic costs more than naming one too many, and what
// counts is whether all topics of a text are found, and whether the one that the model is surest of is among them.
#include "hftrain/plugin/task.h"

#include <ATen/ATen.h>

#include "hftrain/plugin/plugin.h"

HFTRAIN_TASK(R"({
  "name": "topic-tags", "head": "sequence_classification",
  "text": ["title", "body"], "truncation": "only_second", "max_length": 64,
  "labels": {"column": "topics", "kind": "names"},
  "metrics": ["all_found", "surest_is_right"]
})")

namespace {

using namespace hftrain::plugin;

constexpr double kCostOfMissing = 2;

// The cross-entropy of each label on its own, those of the text's topics counted twice. [B, L].
at::Tensor loss_of_topics(const LossInput& input) {
  const at::Tensor logits = input.logits().to(at::kFloat), labels = input.labels;
  const at::Tensor missing = -at::log_sigmoid(logits) * labels * kCostOfMissing;
  const at::Tensor naming = -at::log_sigmoid(-logits) * (1 - labels);
  return (missing + naming).sum() / input.num_items;
}

// A score above 0 names a topic.
Metrics measure(const JudgedSplit& split) {
  const at::Tensor named = split.predictions > 0, right = split.labels > 0;
  const at::Tensor surest = split.predictions.argmax(1, /*keepdim=*/true);
  return {{"all_found", (named == right).all(1).to(at::kDouble).mean().item<double>()},
          {"surest_is_right", right.gather(1, surest).to(at::kDouble).mean().item<double>()}};
}

}  // namespace

HFTRAIN_PLUGIN("topic tags") {
  registry.loss("topics", loss_of_topics);
  registry.metrics("topic-tags", measure);
}

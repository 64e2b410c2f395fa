// What evaluation takes of a rank's memory, with the texts that it writes.
#include <algorithm>
#include <limits>

#include "hftrain/generation/generation_config.h"
#include "hftrain/plan/budget_parts.h"
#include "hftrain/plan/optimizer_memory.h"

namespace hftrain::plan {
namespace {

struct WrittenTexts {
  int64_t length = 0, beams = 1;  // tokens of a row, texts that are followed for it
};

WrittenTexts written_texts(const RunPlan& plan) {
  generation::GenerationConfig config;
  generation::take_json(config, plan.evaluation.generation, std::numeric_limits<int64_t>::max(), "the plan");
  return {1 + config.most_new_tokens(1), config.num_beams};
}

// While texts are written: keys and values of each beam's text and of what it reads, numbers that a decoder's block
// takes from a token of the encoder's being those of a token of its own, too. One layer's are there twice while beams
// change places.
int64_t writing_bytes(const architectures::Architecture& architecture, const RunPlan& plan, int64_t rows) {
  const WrittenTexts texts = written_texts(plan);
  const int64_t beams = rows * texts.beams, outputs = architecture.outputs();
  const int64_t places = texts.length + plan.data.block_size, item = bytes_of(plan.precision.compute);
  int64_t cache = 0;
  for (const architectures::BlockStack& stack : architecture.stacks()) {
    if (stack.decodes) cache += (stack.layers + 1) * beams * places * stack.block.encoded * item;
  }
  // The scores of a step in both precisions, and a search's own of one row.
  return cache + beams * outputs * (item + kFullPrecision) + 2 * texts.beams * outputs * kFullPrecision;
}

}  // namespace

// Without gradients one block is computed at a time. Outputs of as many batches as are moved together stand on the device, and once
// more joined; scorers keep what their metrics need, and where several ranks merge theirs, all of it twice.
int64_t evaluation_bytes(const architectures::Architecture& architecture, const RunPlan& plan) {
  const EvaluationPlan& evaluation = plan.evaluation;
  if (!plan.data.validation && !plan.data.test) return 0;
  const int64_t rows = plan.batch.per_device_eval / (plan.data.split_batches ? plan.ranks.world_size : 1);
  const int64_t tokens = rows * plan.data.block_size, outputs = architecture.outputs();
  const int64_t item = bytes_of(plan.precision.compute);
  const architectures::ActivationFootprint block = architecture.activations();
  const int64_t one_block = tokens * (block.linear + block.square * plan.data.block_size) * item;
  const int64_t logits = evaluation_head_bytes(architecture, plan, tokens);
  int64_t kept = 0;
  if (evaluation.outputs == tasks::OutputForm::kBestIds)
    kept = tokens * static_cast<int64_t>(sizeof(int64_t));
  if (evaluation.outputs == tasks::OutputForm::kScores) kept = tokens * outputs * kFullPrecision;
  const bool writes = !evaluation.generation.is_null();
  if (writes) kept = rows * written_texts(plan).length * static_cast<int64_t>(sizeof(int64_t));
  const int64_t copies = evaluation.joins_batches && evaluation.accumulation_steps > 1 ? 2 : 1;
  const int64_t scorers = evaluation.kept_bytes * (plan.ranks.world_size > 1 ? 2 : 1);
  // A batch's texts are written before its loss is computed.
  const int64_t one_pass =
      std::max(one_block + logits, writes ? writing_bytes(architecture, plan, rows) : int64_t{0});
  return one_pass + 2 * tokens * architecture.hidden_size() * item +
         kept * evaluation.accumulation_steps * copies + scorers;
}

}  // namespace hftrain::plan

// What a training step keeps for its backward pass: an estimate from the tensors that this reads.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "hftrain/plan/budget_parts.h"
#include "hftrain/plan/optimizer_memory.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/plan/step_moments.h"

namespace hftrain::plan {
namespace {

// Tokens of a rank's micro-batch that a stack works on, and of the rows they stand in.
struct StackTokens {
  int64_t all = 0, row = 0;
};

// Whether fused attention computes in float32 what is bfloat16 before it and after it (nn/attention.cpp).
bool widens(const RunPlan& plan, bool widens_bfloat16) {
  return widens_bfloat16 && !on_gpu(plan.ranks) && plan.precision.compute == "bfloat16";
}

// What its attentions keep in float32 on a CPU, beside what they keep in any case. The form that keeps weights has them so on
// every processor, and queries, keys and values, of which those of an encoder's tokens are as many as these; the fused one keeps
// what comes out where it is widened.
int64_t widened_bytes(const architectures::ActivationFootprint& block, int64_t own, int64_t input,
                      int64_t item, bool wide) {
  const int64_t more = kFullPrecision - item, fused = wide ? kFullPrecision : 0;
  const int64_t across = block.encoded / 2, within = block.attended - across;  // of keys and values each
  const int64_t of_own =
      within * (block.square > 0 ? 3 * more : fused) + across * (block.cross > 0 ? more : fused);
  return own * of_own + (block.cross > 0 ? input * block.encoded * more : 0);
}

using Windows = std::vector<std::optional<int64_t>>;

bool is_cut(const std::optional<int64_t>& window, const StackTokens& tokens) {
  return window && *window < tokens.row;
}

// Keys that a GPU's kernels need once for each head of queries, per token: in float32, or beside a mask. Of blocks of which some
// have a window, the mean.
int64_t repeated_numbers(const architectures::ActivationFootprint& block, const StackTokens& own,
                         const RunPlan& plan, const Windows& windows) {
  const bool all = bytes_of(plan.precision.compute) == kFullPrecision || !plan.data.has_rows_of_one_length();
  if (all || windows.empty()) return all ? block.repeated : 0;
  const auto cut = std::ranges::count_if(windows, [&](const auto& window) { return is_cut(window, own); });
  return block.repeated * cut / static_cast<int64_t>(windows.size());
}

// Of a place that a dropout remembers: a byte of a device's kernel and of ours of float32 (nn/dropout.cpp), else a number.
int64_t mask_item(const RunPlan& plan) {
  const int64_t item = bytes_of(plan.precision.compute);
  return on_gpu(plan.ranks) || item == kFullPrecision ? 1 : item;
}

// What a block of a stack keeps; `input`: the tokens that a decoder attends to; `windows`: Architecture::causal_windows().
int64_t block_bytes(const architectures::BlockStack& stack, const StackTokens& own, const StackTokens& input,
                    const RunPlan& plan, const Windows& windows, bool wide) {
  const bool cpu = !on_gpu(plan.ranks);
  const int64_t item = bytes_of(plan.precision.compute), weight = cpu ? kFullPrecision : item;
  architectures::ActivationFootprint block = stack.block;
  if (cpu && block.dropped > 0) block.square = block.dropped;
  if (!cpu) block.cross = 0;
  if (!cpu) block.linear += repeated_numbers(block, own, plan, windows);
  const FusedKernels& kernels = plan.model.fused_kernels;
  if (!cpu && !(kernels.own && kernels.swiglu)) block.linear += block.gated;
  return own.all * (block.linear * item + block.masks * mask_item(plan) +
                    (block.square * own.row + block.cross * input.row) * weight) +
         input.all * block.encoded * item + (cpu ? widened_bytes(block, own.all, input.all, item, wide) : 0);
}

// Of a block's: what the blocks of its stack have among them.
int64_t shared_bytes(const architectures::BlockStack& stack, const StackTokens& own, const RunPlan& plan) {
  if (!on_gpu(plan.ranks) || !stack.block.shares_square) return 0;
  return own.all * own.row * stack.block.square * bytes_of(plan.precision.compute);
}

// What each of them keeps, and what backward takes while it is in it. Of a block that is computed again only what enters it is kept:
// of all the first, and then one of so many (nn/activation_checkpoint.h).
void add_stack(const architectures::BlockStack& stack, int64_t own_tokens, int64_t one_block, int64_t shared,
               int64_t width, const RunPlan& plan, StepActivations& step) {
  const int64_t item = bytes_of(plan.precision.compute), own = one_block - shared;
  // Of what a stack shares the gradient of the blocks before, and that of this one, which is added to it.
  const int64_t passing = stack.block.passing > 0 ? own_tokens * stack.block.passing * item : own;
  const BlockMemory block{.kept = own, .backward = passing + 2 * shared, .whole = one_block + shared};
  const BlockMemory again{
      .kept = own_tokens * width * item, .backward = own + block.backward, .whole = own + block.whole};
  const auto each = static_cast<size_t>(std::max<int64_t>(plan.model.checkpoint_every_n_layers, 1));
  step.ends += shared;
  for (int64_t layer = 0; layer < stack.layers; ++layer) {
    const bool is_again = plan.model.gradient_checkpointing && step.blocks.size() % each == 0;
    step.blocks.push_back(is_again ? again : block);
  }
}

// What the adapters of a block keep per token: what goes into each once more where it drops out, and its rank twice.
int64_t adapter_numbers(const architectures::Architecture& architecture) {
  if (!architecture.adapter() || architecture.layers() == 0) return 0;
  int64_t numbers = 0;
  for (const architectures::ParameterSpec& spec : architecture.parameters().parameters) {
    if (!spec.adapts || spec.adapts->half != architectures::AdapterHalf::kDown) continue;
    numbers += 2 * spec.shape[0] + (architecture.adapter()->dropout > 0 ? spec.shape[1] : 0);
  }
  return (numbers + architecture.layers() - 1) / architecture.layers();
}

// Masks of a decoder's attention on a GPU, of which the blocks of a window share one (nn/shared_masks.h): for each row where
// padding stands before tokens or is looked at (models/decoder_model.cpp), else for all. A CPU's hold a byte a place, and are few.
int64_t mask_bytes(const architectures::Architecture& architecture, const RunPlan& plan,
                   const StackTokens& input) {
  if (!on_gpu(plan.ranks)) return 0;
  const bool answers = architecture.head() == architectures::Head::kQuestionAnswering;
  const bool padded = !plan.data.padding.columns.empty() && (plan.data.padding.on_left || answers);
  const int64_t kept = (input.row + 7) / 8 * 8 * bytes_of(plan.precision.compute);
  const Windows all = architecture.causal_windows();
  int64_t bytes = 0;
  for (const std::optional<int64_t>& window : std::set(all.begin(), all.end())) {
    if (padded)
      bytes += input.all * kept;
    else if (is_cut(window, input))
      bytes += input.row * kept;
  }
  return bytes;
}

}  // namespace

StepActivations step_activations(const architectures::Architecture& architecture, const RunPlan& plan,
                                 bool widens_bfloat16) {
  const bool wide = widens(plan, widens_bfloat16);
  const int64_t split = plan.data.split_batches ? plan.ranks.world_size : 1;
  const auto& train = plan.data.train;
  const int64_t most =
      train && train->exact && train->samples > 0 ? train->samples : plan.batch.per_device_train;
  const int64_t rows = std::min(plan.batch.per_device_train, most);  // no batch holds more than there are
  const auto tokens_of = [&](int64_t length) { return StackTokens{rows * length / split, length}; };
  const StackTokens input = tokens_of(plan.data.block_size);
  const StackTokens target = plan.data.target_size > 0 ? tokens_of(plan.data.target_size) : input;
  const int64_t width = architecture.hidden_size(), item = bytes_of(plan.precision.compute);
  StepActivations step;
  const Windows windows = architecture.causal_windows();
  const StackTokens* last = &input;
  for (architectures::BlockStack stack : architecture.stacks()) {
    stack.block.linear += adapter_numbers(architecture);
    last = stack.decodes ? &target : &input;
    const int64_t one_block = block_bytes(stack, *last, input, plan, windows, wide);
    add_stack(stack, last->all, one_block, shared_bytes(stack, *last, plan), width, plan, step);
    if (!stack.goes_on) step.ends += 2 * last->all * width * item;
  }
  step.ends += mask_bytes(architecture, plan, input);
  step.head = training_head_bytes(architecture, plan, last->all);
  return step;
}

}  // namespace hftrain::plan

// What a head's matrix, its logits and its loss take of a rank's memory.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "hftrain/plan/budget_parts.h"
#include "hftrain/plan/optimizer_memory.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

// Of logits of a vocabulary (nn/head_loss.cpp).
constexpr int64_t kHostChunkBytes = int64_t{16} << 20, kDeviceChunkBytes = int64_t{256} << 20;
constexpr int64_t kHostChunkRows = 256, kDeviceChunkRows = 1024;  // at least

// Whether the loss goes through the logits of a vocabulary as it makes them.
bool fuses_loss(const architectures::Architecture& architecture, const RunPlan& plan) {
  return architecture.outputs() == architecture.vocab_size() && plan.model.fused_kernels.loss;
}

// Of logits: on a GPU the fused loss adds to a vocabulary what its products miss to a multiple (nn/head_matrix.cpp).
int64_t logit_columns(const architectures::Architecture& architecture, const RunPlan& plan) {
  constexpr int64_t kDeviceStep = 64;
  const int64_t step = on_gpu(plan.ranks) && fuses_loss(architecture, plan) ? kDeviceStep : 1;
  return (architecture.outputs() + step - 1) / step * step;
}

// Whether a GPU's head is handed its matrix as it is kept in float32, and casts it where it adds the rows of zeros.
bool casts_in_head(const RunPlan& plan) {
  return on_gpu(plan.ranks) && !plan.strategy.sharded() && plan.model.master_dtype == "float32";
}

// Of the last matrix with rows of zeros behind it, where that is another copy than the one in the type of the forward pass, which is
// counted among the casts.
int64_t padded_matrix_bytes(const architectures::Architecture& architecture, const RunPlan& plan) {
  const int64_t columns = logit_columns(architecture, plan);
  const bool cast = casts_in_head(plan) && plan.precision.compute != "float32";
  if (columns == architecture.outputs() || cast) return 0;
  return columns * architecture.hidden_size() * bytes_of(plan.precision.compute);
}

// The most tokens of so many that are masked in all but one batch of a thousand.
int64_t masked_tokens(double probability, int64_t tokens) {
  constexpr double kDeviations = 3;
  const double count = static_cast<double>(tokens), mean = probability * count;
  const double spread = kDeviations * std::sqrt(mean * (1 - probability));
  return std::min(tokens, static_cast<int64_t>(std::ceil(mean + spread)));
}

// Of so many tokens the rows whose logits there is room for at once: the fused loss goes through a vocabulary
// chunk by chunk, only through places with a label, in buffers of powers of two.
int64_t rows_of_logits(const architectures::Architecture& architecture, const RunPlan& plan, int64_t tokens) {
  if (!fuses_loss(architecture, plan)) return tokens;
  const bool gpu = on_gpu(plan.ranks);
  const int64_t chunk = std::max(
      gpu ? kDeviceChunkRows : kHostChunkRows,
      (gpu ? kDeviceChunkBytes : kHostChunkBytes) / (logit_columns(architecture, plan) * kFullPrecision));
  const int64_t labelled = plan.data.masking ? masked_tokens(plan.data.masking->probability, tokens) : tokens;
  return std::min(chunk, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(labelled))));
}

// Of such a row, while a GPU computes its loss: half types' logits in float32 and their gradient beside them, of others one in place of
// the other; and in float32 their probabilities (nn/row_loss.h).
int64_t bytes_of_logit_on_gpu(int64_t item, bool gradient) {
  const bool wide = item != kFullPrecision;
  return 2 * kFullPrecision + (wide && gradient ? item : 0);
}

// Of such a row: its logits and what is computed of them in float32, which the processor's kernel writes in their
// place. Where it has none, for smaller types, they are converted first. `gradient`: of training.
int64_t bytes_of_logit(const architectures::Architecture& architecture, const RunPlan& plan, bool gradient) {
  const int64_t item = bytes_of(plan.precision.compute);
  const bool fused = fuses_loss(architecture, plan), gpu = on_gpu(plan.ranks);
  if (fused && gpu) return bytes_of_logit_on_gpu(item, gradient);
  const bool half_on_host = !gpu && item != kFullPrecision;
  if (fused && !plan.optimizer.loss_by_probability && !half_on_host) return item;
  // A GPU's softmax in float32 reads float16 as it is, and has a copy of bfloat16 made first.
  const bool converted = half_on_host || (gpu && plan.precision.compute == "bfloat16");
  // The plain loss keeps its softmax and makes a gradient beside it.
  return item + (1 + (converted ? 1 : 0) + (fused ? 0 : 1)) * kFullPrecision;
}

// Of a number of the last matrix's gradient: in float16, and in bfloat16 of several chunks, it is summed in float32, beside a
// chunk's product on a CPU, and beside its copy in the end. A GPU hands it on as it is to a matrix that is kept in float32.
int64_t bytes_of_head_gradient(const architectures::Architecture& architecture, const RunPlan& plan,
                               int64_t tokens) {
  const int64_t item = bytes_of(plan.precision.compute);
  const bool chunks = tokens > rows_of_logits(architecture, plan, tokens);
  if (casts_in_head(plan)) return kFullPrecision;
  const bool wide = item != kFullPrecision && (chunks || plan.precision.compute == "float16");
  return item + (wide ? kFullPrecision : 0);
}

// Whether the matrix before the logits of a vocabulary is trained: the last of its shape, which may be that of the embeddings.
bool trains_last_matrix(const architectures::Architecture& architecture, const RunPlan& plan) {
  const std::vector<int64_t> shape = {architecture.outputs(), architecture.hidden_size()};
  const auto& parameters = architecture.parameters().parameters;
  for (size_t i = parameters.size(); i-- > 0;) {
    if (parameters[i].shape == shape)
      return !std::ranges::binary_search(plan.model.frozen, static_cast<int>(i));
  }
  return true;
}

}  // namespace

// The logits, and in float32 the softmax that becomes their gradient. The fused loss of a vocabulary makes the gradients of its
// last matrix, unless that is frozen, and of what it is applied to at once, and backward hands them on.
int64_t training_head_bytes(const architectures::Architecture& architecture, const RunPlan& plan,
                            int64_t tokens) {
  const int64_t outputs = architecture.outputs(), columns = logit_columns(architecture, plan);
  const int64_t width = architecture.hidden_size();
  const int64_t item = bytes_of(plan.precision.compute);
  const bool fused = fuses_loss(architecture, plan);
  const bool trains_last = fused && trains_last_matrix(architecture, plan);
  const int64_t handed_on =
      (fused ? tokens * width * item : 0) +
      (trains_last ? columns * width * bytes_of_head_gradient(architecture, plan, tokens) : 0);
  // For products of smaller types oneDNN copies a matrix first.
  const int64_t packed = on_gpu(plan.ranks) || item == kFullPrecision
                             ? padded_matrix_bytes(architecture, plan)
                             : outputs * width * item;
  return handed_on + packed +
         rows_of_logits(architecture, plan, tokens) * columns *
             bytes_of_logit(architecture, plan, /*gradient=*/true);
}

// Of a vocabulary there are the logits of a chunk, and in float32 their probabilities (nn/head_loss.cpp); other heads have all of
// theirs, and so has whoever wants scores.
int64_t evaluation_head_bytes(const architectures::Architecture& architecture, const RunPlan& plan,
                              int64_t tokens) {
  const bool whole = plan.evaluation.outputs == tasks::OutputForm::kScores;
  const int64_t at_once = whole ? tokens : rows_of_logits(architecture, plan, tokens);
  // The last batch may be smaller, and its buffer is then kept beside the others'.
  return (at_once + at_once / 2) * logit_columns(architecture, plan) *
             bytes_of_logit(architecture, plan, /*gradient=*/false) +
         (whole ? 0 : padded_matrix_bytes(architecture, plan));
}

}  // namespace hftrain::plan

#include "hftrain/checkpoint/added_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "hftrain/checkpoint/state_parts.h"
#include "hftrain/nn/embedding.h"
#include "hftrain/plan/stored_shapes.h"
#include "hftrain/storage/box.h"

namespace hftrain::checkpoint {
namespace {

constexpr double kSpread = 1e-9;  // of the covariance

using GroupVisitor = std::function<void(const at::Tensor& rows)>;

// Groups of the stored rows, float32.
void visit_rows(const storage::StoredWeights& weights, const storage::TensorEntry& entry,
                const GroupVisitor& visit) {
  constexpr uint64_t kNumbers = uint64_t{1} << 22;
  const storage::Box whole{std::vector<int64_t>(entry.shape.size(), 0), entry.shape};
  for (const storage::Box& box : storage::row_groups(whole, kNumbers)) {
    const at::Tensor rows = at::empty(box.sizes, at::kFloat);
    fill(rows, entry.dtype, [&](std::span<char> bytes) { weights.read(entry.name, box, bytes); });
    visit(rows);
  }
}

at::Tensor mean_of(const storage::StoredWeights& weights, const storage::TensorEntry& entry) {
  at::Tensor sum = at::zeros(at::IntArrayRef(entry.shape).slice(1), at::kDouble);
  visit_rows(weights, entry, [&](const at::Tensor& rows) { sum += rows.sum(0, false, at::kDouble); });
  return (sum / entry.shape.front()).to(at::kFloat);
}

// [H, H]
at::Tensor covariance_of(const storage::StoredWeights& weights, const storage::TensorEntry& entry,
                         const at::Tensor& mean) {
  at::Tensor products = at::zeros({mean.size(0), mean.size(0)}, at::kFloat);
  visit_rows(weights, entry, [&](const at::Tensor& rows) {
    const at::Tensor centred = rows - mean;
    products.addmm_(centred.t(), centred);
  });
  return products / entry.shape.front();
}

// As many numbers of the stream as a new module takes for weights that are written over at once. A generator fills
// tensors of 16 numbers and more in groups of 16, so the last group here is not smaller.
void pass_over(int64_t numbers, bool normal, const at::Generator& generator) {
  constexpr int64_t kGroup = int64_t{1} << 20;
  while (numbers > 0) {
    const int64_t count = numbers < 2 * kGroup ? numbers : kGroup;
    const at::Tensor scratch = at::empty({count}, at::kFloat);
    normal ? scratch.normal_(0, 1, generator) : scratch.uniform_(0, 1, generator);
    numbers -= count;
  }
}

}  // namespace

void AddedRows::add(const architectures::ParameterSpec& spec, const plan::GrownParameter& grown,
                    const storage::StoredWeights& weights, const storage::TensorEntry& entry) {
  const size_t dim = plan::differing_dim(spec.shape, entry.shape).value();
  std::vector<int64_t> sizes = spec.shape;
  sizes[dim] -= entry.shape[dim];
  at::Tensor rows;
  switch (grown.kind) {
    case plan::GrowthKind::kTokens:
      rows = token_rows(spec, weights, entry);
      break;
    case plan::GrowthKind::kPositions:
      rows = spec.init.kind == architectures::InitKind::kSinusoids
                 ? nn::sinusoids(spec.shape[0], spec.shape[1]).narrow(0, entry.shape[0], sizes[0])
                 : at::empty(sizes, at::kFloat).normal_(0, spec.init.std, generator_);
      break;
    case plan::GrowthKind::kZeros:
      rows = at::zeros(sizes, at::kFloat);
      break;
    case plan::GrowthKind::kMean:
      rows = mean_of(weights, entry).expand(sizes).clone();
      break;
  }
  added_[spec.name] = {entry.shape[dim], dim, rows};
}

at::Tensor AddedRows::token_rows(const architectures::ParameterSpec& spec,
                                 const storage::StoredWeights& weights, const storage::TensorEntry& entry) {
  const int64_t count = spec.shape.front() - entry.shape.front(), width = spec.shape.back();
  pass_over(spec.numel(), /*normal=*/spec.embedding, generator_);
  const at::Tensor mean = mean_of(weights, entry);
  const auto [factor, failed] = at::linalg_cholesky_ex(covariance_of(weights, entry, mean) * kSpread);
  if (failed.item<int>() != 0) return mean.expand({count, width}).clone();
  const at::Tensor noise = at::empty({count, width}, at::kFloat).normal_(0, 1, generator_);
  return noise.matmul(factor.t()).add_(mean);
}

void AddedRows::copy_to(const parallel::StatePart& part, int64_t stored_rows) const {
  const Rows& added = added_.at(part.parameter);
  const auto along = static_cast<int64_t>(added.dim);
  const int64_t count = part.tensor.size(along) - stored_rows;
  if (count == 0) return;
  at::Tensor rows = added.rows;
  for (size_t dim = 0; dim < part.offset.size(); ++dim) {
    const auto d = static_cast<int64_t>(dim);
    rows = dim == added.dim ? rows.narrow(d, part.offset[dim] + stored_rows - added.first, count)
                            : rows.narrow(d, part.offset[dim], part.tensor.size(d));
  }
  part.tensor.narrow(along, stored_rows, count).copy_(rows);
}

}  // namespace hftrain::checkpoint

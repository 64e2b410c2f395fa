// What LibTorch's flash kernel is told of the documents of packed rows. The kernel is a GPU's: in this program another stands in its
// place, which computes by the words of its declaration, so that a wrong bound, window or group of heads is a wrong number.
#include "hftrain/nn/document_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/library.h>

#include <limits>
#include <tuple>

#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::nn {
namespace {

using MaybeTensor = std::optional<at::Tensor>;
using MaybeCount = std::optional<int64_t>;

// [H, T, d] of one document, keys and values as often as they serve.
at::Tensor heads_of(const at::Tensor& x, int64_t begin, int64_t end, int64_t heads) {
  return x.slice(0, begin, end).transpose(0, 1).repeat_interleave(heads / x.size(1), 0);
}

at::Tensor weights_of(const at::Tensor& query, const at::Tensor& key, double scale, MaybeCount left,
                      MaybeCount right) {
  const at::Tensor place = at::arange(query.size(1));
  const at::Tensor behind = place.unsqueeze(0) - place.unsqueeze(1);  // key − query
  at::Tensor hidden = behind > right.value_or(0);
  if (left) hidden = hidden.logical_or(behind < -*left);
  const at::Tensor scores = query.matmul(key.transpose(1, 2)) * scale;
  return scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()).softmax(-1);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> stand_in(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const MaybeTensor& starts,
    const MaybeTensor& key_starts, int64_t longest, int64_t longest_key, double dropout, bool causal, bool,
    std::optional<double> scale, MaybeCount left, MaybeCount right, const MaybeTensor&, const MaybeTensor&) {
  const bool told = starts->scalar_type() == at::kInt && at::equal(*starts, *key_starts) && causal &&
                    longest == longest_key && (starts->diff() <= longest).all().item<bool>() && dropout == 0;
  TORCH_CHECK(told, "the stand-in knows causal documents alone");
  const at::Tensor out = at::empty(query.sizes(), query.options());
  const auto* at = starts->const_data_ptr<int32_t>();
  for (int64_t i = 0; i + 1 < starts->numel(); ++i) {
    const auto part = [&](const at::Tensor& x) { return heads_of(x, at[i], at[i + 1], query.size(1)); };
    const at::Tensor weights = weights_of(part(query), part(key), *scale, left, right);
    out.slice(0, at[i], at[i + 1]).copy_(weights.matmul(part(value)).transpose(0, 1));
  }
  const at::Tensor none = at::empty({0});
  return {out, none, none, none, none};
}

// The gradient of the softmax, and a group's summed.
std::tuple<at::Tensor, at::Tensor, at::Tensor> stand_in_back(
    const at::Tensor& of_out, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor&, const at::Tensor&, const at::Tensor& starts, const at::Tensor&, int64_t, int64_t,
    double, bool, const at::Tensor&, const at::Tensor&, std::optional<double> scale, MaybeCount left,
    MaybeCount right) {
  at::Tensor of_query = at::zeros_like(query), of_key = at::zeros_like(key), of_value = at::zeros_like(value);
  const auto* at = starts.const_data_ptr<int32_t>();
  const int64_t heads = query.size(1), groups = key.size(1);
  for (int64_t i = 0; i + 1 < starts.numel(); ++i) {
    const auto part = [&](const at::Tensor& x) { return heads_of(x, at[i], at[i + 1], heads); };
    const auto give = [&](const at::Tensor& into, const at::Tensor& grad) {
      const at::Tensor grouped =
          grad.view({groups, heads / groups, grad.size(1), grad.size(2)}).sum(1).transpose(0, 1);
      into.slice(0, at[i], at[i + 1]).add_(grouped);
    };
    const at::Tensor weights = weights_of(part(query), part(key), *scale, left, right), grad = part(of_out);
    const at::Tensor of_weights = grad.matmul(part(value).transpose(1, 2));
    const at::Tensor of_scores =
        weights * (of_weights - (of_weights * weights).sum(-1, /*keepdim=*/true)) * *scale;
    of_query.slice(0, at[i], at[i + 1]).copy_(of_scores.matmul(part(key)).transpose(0, 1));
    give(of_key, of_scores.transpose(1, 2).matmul(part(query)));
    give(of_value, weights.transpose(1, 2).matmul(grad));
  }
  return {of_query, of_key, of_value};
}

TORCH_LIBRARY_IMPL(aten, CPU, library) {
  library.impl("_flash_attention_forward", TORCH_FN(stand_in));
  library.impl("_flash_attention_backward", TORCH_FN(stand_in_back));
}

struct Rows {
  at::Tensor query, key, value;
};

// 2 rows of 12 tokens, 4 heads of queries over `groups` of keys; one tensor's parts, as merged projections give them.
Rows rows_of(int64_t groups, const at::TensorOptions& options = {}) {
  const at::Tensor all = at::rand({2, 12, 4 + 2 * groups, 8}, options) - 0.5;
  return {all.narrow(2, 0, 4).detach().requires_grad_(true),
          all.narrow(2, 4, groups).detach().requires_grad_(true),
          all.narrow(2, 4 + groups, groups).detach().requires_grad_(true)};
}

const std::vector<int64_t> kDocuments = {5, 1, 6, 9, 3};  // 12 and 12

// The result and the gradients of a loss that weights each number otherwise.
std::vector<at::Tensor> learnt(const Rows& rows, const at::Tensor& out) {
  const at::Tensor weights = at::arange(out.numel()).view(out.sizes()).sin();
  std::vector<at::Tensor> all =
      torch::autograd::grad({(out * weights).sum()}, {rows.query, rows.key, rows.value});
  all.push_back(out);
  return all;
}

}  // namespace

TEST_CASE("documents that attend in one call are told to the kernel as they lie") {
  const int64_t groups = GENERATE(4, 2, 1);
  const std::optional<int64_t> window =
      GENERATE(as<std::optional<int64_t>>{}, std::nullopt, std::optional<int64_t>(1),
               std::optional<int64_t>(4), std::optional<int64_t>(9), std::optional<int64_t>(100));
  INFO(groups << " groups, a window of " << window.value_or(0));
  const Rows rows = rows_of(groups);
  const AttentionOptions options{.scale = 0.3, .window = window};
  const AttentionMask mask{.causal = true, .documents = kDocuments};
  const auto each = learnt(rows, attention(rows.query, rows.key, rows.value, mask, options));
  const auto together = learnt(
      rows, attention_within(bounds_of(kDocuments, at::kCPU), rows.query, rows.key, rows.value, options));
  for (size_t i = 0; i < each.size(); ++i) CHECK(at::allclose(together[i], each[i], 1e-5, 1e-6));
}

TEST_CASE("the bounds of documents end with the last one") {
  const DocumentBounds bounds = bounds_of(kDocuments, at::kCPU);
  CHECK(at::equal(bounds.starts, at::tensor({0, 5, 6, 12, 21, 24}, at::kInt)));
  CHECK(bounds.longest == 9);
  SharedMasks masks(true);
  const at::Tensor first = masks.bounds(kDocuments, at::kCPU).starts;
  CHECK(masks.bounds(kDocuments, at::kCPU).starts.is_same(first));
  CHECK_REFUSED(bounds_of({int64_t{1} << 30, int64_t{1} << 30}, at::kCPU),
                "more tokens than an int32 counts");
}

TEST_CASE("a processor's documents attend each by itself") {
  const Rows rows = rows_of(2, at::kBFloat16);
  CHECK_FALSE(takes_documents_at_once(rows.query, rows.key, rows.value, 9, {}));
  CHECK_FALSE(SharedMasks().documents_at_once());
}

}  // namespace hftrain::nn

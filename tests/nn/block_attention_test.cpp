// Attention of whole sequences and its gradients against the same written out in float64, by the kernel that has blocks where this
// processor takes it, and by LibTorch's elsewhere.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "hftrain/nn/attention.h"
#include "hftrain/nn/cpu/block_attention.h"
#include "support/catch.h"
#include "support/skip.h"

namespace hftrain::nn {
namespace {

struct Sequences {
  std::string name;
  int64_t rows, queries, keys, heads, key_heads, width;
  AttentionMask mask;
  std::optional<int64_t> window;
};

// True but for the first `hidden` places of each row and every fifth of the second.
at::Tensor with_hidden_places(int64_t rows, int64_t places, int64_t hidden) {
  at::Tensor seen = at::ones({rows, places}, at::kBool);
  seen.narrow(1, 0, hidden).fill_(false);
  for (int64_t i = 0; i < places; i += 5) seen[1][i] = false;
  return seen;
}

// Lengths around the tiles (12 and 32 numbers) and blocks (96 queries) of the kernel.
std::vector<Sequences> all_sequences() {
  return {
      {"a tile", 1, 12, 12, 1, 1, 16, {}, {}},
      {"another sequence", 2, 13, 31, 3, 3, 20, {}, {}},
      {"one key", 1, 14, 1, 2, 1, 8, {}, {}},
      {"one number a head", 1, 33, 33, 2, 2, 1, {.causal = true}, {}},
      {"causal", 2, 97, 97, 2, 2, 16, {.causal = true}, {}},
      {"causal, grouped heads, three blocks", 2, 250, 250, 4, 2, 24, {.causal = true}, {}},
      {"a window", 1, 230, 230, 2, 1, 16, {.causal = true}, 40},
      {"a window of one", 1, 100, 100, 2, 2, 16, {.causal = true}, 1},
      {"a window longer than the text", 1, 50, 50, 2, 2, 16, {.causal = true}, 90},
      {"padding", 2, 40, 70, 2, 2, 16, {.padding = with_hidden_places(2, 70, 3)}, {}},
      {"causal, queries without a key",
       2,
       110,
       110,
       2,
       1,
       16,
       {.causal = true, .padding = with_hidden_places(2, 110, 20)},
       {}},
      {"a window of padding",
       2,
       110,
       110,
       2,
       1,
       16,
       {.causal = true, .padding = with_hidden_places(2, 110, 20)},
       7},
      {"documents", 2, 130, 130, 2, 1, 16, {.causal = true, .documents = {100, 1, 29, 3, 40, 87}}, {}},
      {"documents that are longer than a window",
       1,
       130,
       130,
       2,
       2,
       16,
       {.causal = true, .documents = {5, 125}},
       9},
      {"keys for narrow blocks", 1, 100, 11000, 1, 1, 8, {}, {}},
      {"keys for narrow blocks, one key head for all", 1, 30, 11000, 3, 1, 8, {}, {}},
  };
}

at::Tensor drawn_heads(int64_t rows, int64_t places, int64_t heads, int64_t width, uint64_t seed) {
  return at::randn({rows, places, heads, width}, at::detail::createCPUGenerator(seed), at::kDouble);
}

// [rows, 1, queries, keys]: whether both are of one document.
at::Tensor within_documents(const Sequences& s) {
  const at::Tensor number = at::repeat_interleave(at::tensor(s.mask.documents)).view({s.rows, -1});
  return (number.unsqueeze(2) == number.unsqueeze(1)).unsqueeze(1);
}

at::Tensor exact_attention(const Sequences& s, const at::Tensor& query, const at::Tensor& key,
                           const at::Tensor& value, double scale) {
  const auto heads_first = [&](const at::Tensor& x) {
    return x.transpose(1, 2).repeat_interleave(s.heads / x.size(2), 1);
  };
  const at::Tensor scores = heads_first(query).matmul(heads_first(key).transpose(2, 3)) * scale;
  const at::Tensor own = at::arange(s.queries).view({-1, 1}), place = at::arange(s.keys);
  at::Tensor seen = s.mask.causal ? place <= own : at::ones({s.queries, s.keys}, at::kBool);
  if (s.window) seen = seen & (place > own - *s.window);
  seen = seen.view({1, 1, s.queries, s.keys});
  if (!s.mask.documents.empty()) seen = seen & within_documents(s);
  if (s.mask.padding.defined()) seen = seen & s.mask.padding.view({s.rows, 1, 1, s.keys});
  const at::Tensor hidden = at::full({}, std::numeric_limits<double>::lowest(), at::kDouble);
  const at::Tensor weights = at::where(seen, scores, hidden).softmax(-1) * seen.any(-1, true);
  return weights.matmul(heads_first(value)).transpose(1, 2).reshape({s.rows, s.queries, -1});
}

struct Found {
  at::Tensor out, of_query, of_key, of_value;
  bool by_blocks = false;
};

std::vector<at::Tensor> tensors_of(const Found& found) {
  return {found.out, found.of_query, found.of_key, found.of_value};
}

// Queries, keys and values as slices of one projection, where they are of one sequence.
Found run_attention(const Sequences& s, at::ScalarType dtype, bool exact) {
  constexpr double kScale = 0.4;
  std::vector<at::Tensor> leaves{drawn_heads(s.rows, s.queries, s.heads, s.width, 1),
                                 drawn_heads(s.rows, s.keys, s.key_heads, s.width, 2),
                                 drawn_heads(s.rows, s.keys, s.key_heads, s.width, 3)};
  const at::Tensor gradient = drawn_heads(s.rows, s.queries, 1, s.heads * s.width, 4).squeeze(2).to(dtype);
  std::vector<at::Tensor> inputs;
  for (at::Tensor& leaf : leaves) {
    leaf = at::zeros({s.rows, leaf.size(1), leaf.size(2) + 1, s.width}, at::kDouble).to(dtype);
    const uint64_t seed = inputs.size() + 1;
    const int64_t heads = leaf.size(2) - 1;
    leaf.narrow(2, 1, heads).copy_(drawn_heads(s.rows, leaf.size(1), heads, s.width, seed));
    if (exact) leaf = leaf.to(at::kDouble);
    leaf.requires_grad_(true);
    inputs.push_back(leaf.narrow(2, 1, heads));
  }
  AttentionOptions options{.scale = kScale, .dropout = 0, .window = s.window};
  const at::Tensor out = exact ? exact_attention(s, inputs[0], inputs[1], inputs[2], kScale)
                               : attention(inputs[0], inputs[1], inputs[2], s.mask, options);
  out.backward(gradient.to(out.scalar_type()));
  const auto whole = [](const at::Tensor& leaf) { return leaf.grad().to(at::kDouble); };
  bool by_blocks = false;
  for (const auto& edge : out.grad_fn()->next_edges()) {
    by_blocks |= edge.function && edge.function->name().find("AttentionByBlocks") != std::string::npos;
  }
  return {out.detach().to(at::kDouble), whole(leaves[0]), whole(leaves[1]), whole(leaves[2]), by_blocks};
}

}  // namespace

TEST_CASE(
    "Attention of whole sequences and its gradients are those of float64, by blocks where it is quicker") {
  const Sequences s = GENERATE(from_range(all_sequences()));
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16);
  INFO(s.name << " in " << dtype);
  const Found found = run_attention(s, dtype, false), wanted = run_attention(s, dtype, true);
  const int64_t reach = s.window ? std::min(*s.window, s.keys) : s.keys;
  CHECK(found.by_blocks == cpu::prefers_block_attention(dtype == at::kFloat, reach));
  const double tolerance = dtype == at::kFloat ? 1e-5 : 2e-2;
  for (size_t i = 0; i < 4; ++i) {
    INFO("tensor " << i << " (0: output, then gradients of queries, keys, values)");
    const at::Tensor expected = tensors_of(wanted)[i];
    const double worst = (tensors_of(found)[i] - expected).abs().max().item<double>();
    CHECK(worst <= tolerance * std::max(1.0, expected.abs().max().item<double>()));
  }
}

TEST_CASE("Attention by blocks has the same bits with any number of threads") {
  // The first has more key heads than threads, the second has fewer.
  const Sequences s = all_sequences()[GENERATE(5, 6, 12)];
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const Found alone = run_attention(s, dtype, false);
  if (!alone.by_blocks) {
    at::set_num_threads(before);
    HFTRAIN_SKIP("this processor takes LibTorch's attention, whose sums follow the number of threads");
  }
  at::set_num_threads(3);
  const Found together = run_attention(s, dtype, false);
  at::set_num_threads(before);
  for (size_t i = 0; i < 4; ++i) CHECK(tensors_of(alone)[i].equal(tensors_of(together)[i]));
}

TEST_CASE("Scores that are no numbers are seen in what attention gives, and not beyond their rows") {
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16);
  const auto heads = [&](uint64_t seed) { return drawn_heads(2, 30, 2, 8, seed).to(dtype); };
  at::Tensor query = heads(1);
  query[0][4][1].fill_(std::numeric_limits<double>::quiet_NaN());
  const at::Tensor out = causal_attention(query, heads(2), heads(3), {}).view({2, 30, 2, 8});
  CHECK(out[0][4][1].isnan().all().item<bool>());
  CHECK(out.isnan().sum().item<int64_t>() == 8);
}

TEST_CASE("A document among others has the bits that it has alone") {
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16);
  const auto heads = [&](uint64_t seed) { return drawn_heads(1, 150, 2, 8, seed).to(dtype); };
  const at::Tensor query = heads(1), key = heads(2), value = heads(3);
  const at::Tensor all = attention(query, key, value, {.causal = true, .documents = {20, 110, 20}}, {});
  const auto own = [](const at::Tensor& x) { return x.narrow(1, 20, 110); };
  CHECK(own(all).equal(causal_attention(own(query), own(key), own(value), {})));
}

}  // namespace hftrain::nn

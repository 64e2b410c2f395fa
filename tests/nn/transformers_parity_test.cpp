// The building blocks of the families against those of transformers (scripts/golden/nn.py).
#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>

#include "hftrain/nn/activation.h"
#include "hftrain/nn/attention.h"
#include "hftrain/nn/embedding.h"
#include "hftrain/nn/loss.h"
#include "hftrain/nn/relative_position.h"
#include "models/golden_file.h"
#include "support/catch.h"

namespace hftrain::nn {
namespace {

using hftrain::testing::GoldenFile;

bool alike(const at::Tensor& actual, const at::Tensor& expected) {
  return actual.sizes() == expected.sizes() && actual.allclose(expected, 1e-5, 2e-6);
}

struct AttentionLeaves {
  at::Tensor query, key, value;
  AttentionMask mask;
};

AttentionLeaves attention_leaves(const GoldenFile& golden, const std::string& name) {
  const auto leaf = [&](const std::string& key) {
    return golden.tensor(name + "/" + key).requires_grad_(true);
  };
  AttentionLeaves leaves{leaf("query"), leaf("key"), leaf("value"), {}};
  leaves.mask.causal = name.find("causal") != std::string::npos;
  if (golden.has(name + "/keys")) leaves.mask.padding = golden.tensor(name + "/keys");
  if (golden.has(name + "/bias")) leaves.mask.bias = leaf("bias");
  return leaves;
}

}  // namespace

TEST_CASE("Attention with padding, biases and over other sequences is that of transformers, with gradients") {
  const std::string name = GENERATE(as<std::string>(), "plain", "padded", "blind", "causal_padded", "biased",
                                    "biased_padded", "biased_blind", "biased_causal_padded", "cross");
  INFO(name);
  const GoldenFile golden("nn/attention");
  const AttentionLeaves leaves = attention_leaves(golden, name);
  AttentionOptions options;
  options.scale = 0.3;
  const at::Tensor output = attention(leaves.query, leaves.key, leaves.value, leaves.mask, options);
  CHECK(alike(output, golden.tensor(name + "/output")));
  (output * output).sum().backward();
  CHECK(alike(leaves.query.grad(), golden.tensor(name + "/grad/query")));
  CHECK(alike(leaves.key.grad(), golden.tensor(name + "/grad/key")));
  CHECK(alike(leaves.value.grad(), golden.tensor(name + "/grad/value")));
  if (leaves.mask.bias.defined()) CHECK(alike(leaves.mask.bias.grad(), golden.tensor(name + "/grad/bias")));
}

TEST_CASE("T5's buckets of relative positions are those of transformers") {
  const GoldenFile golden("nn/positions");
  const std::vector<std::pair<std::string, RelativePositions>> cases{
      {"encoder", {32, 128, true}}, {"decoder", {32, 128, false}}, {"small", {8, 20, true}}};
  for (const auto& [name, positions] : cases) {
    INFO(name);
    CHECK(relative_buckets(5, 180, positions, at::kCPU).equal(golden.tensor(name + "/later")));
    CHECK(relative_buckets(180, 5, positions, at::kCPU).equal(golden.tensor(name + "/earlier")));
  }
}

TEST_CASE("RoBERTa's positions skip padding as in transformers") {
  const GoldenFile golden("nn/positions");
  CHECK(positions_without_padding(golden.tensor("roberta/ids"), 1).equal(golden.tensor("roberta/positions")));
}

TEST_CASE("Every activation by its name is that of transformers, in both forms") {
  const GoldenFile golden("nn/activations");
  const at::Tensor x = golden.tensor("x");
  for (const std::string& name : activation_names()) {
    INFO(name);
    const Activation activation = activation_by_name(name);
    CHECK(alike(activate(activation, x, Kernels::kReference), golden.tensor(name)));
    CHECK(alike(activate(activation, x, Kernels::kFused), golden.tensor(name)));
  }
}

TEST_CASE("Losses are those of transformers' models, as a mean and with the divisor of an update") {
  const GoldenFile golden("nn/losses");
  LossOptions counted;
  counted.num_items = at::scalar_tensor(17.0);
  const at::Tensor logits = golden.tensor("logits"), labels = golden.tensor("labels");
  CHECK(alike(cross_entropy(logits, labels, {}), golden.tensor("cross_entropy")));
  CHECK(alike(cross_entropy(logits, labels, counted), golden.tensor("cross_entropy_17")));
  const at::Tensor scores = golden.tensor("scores");
  const at::Tensor squared = mean_squared_error(scores, golden.tensor("targets"), {});
  const at::Tensor binary = sigmoid_cross_entropy(scores, golden.tensor("several"), {});
  CHECK(alike(squared, golden.tensor("squared")));
  CHECK(alike(binary, golden.tensor("binary")));
  CHECK(alike(mean_squared_error(scores, golden.tensor("targets"), counted) * 17 / 35, squared));
  CHECK(alike(sigmoid_cross_entropy(scores, golden.tensor("several"), counted) * 17 / 35, binary));
}

}  // namespace hftrain::nn

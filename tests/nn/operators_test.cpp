// Every fused operator against its composition of ATen operators: values and gradients.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/erfc.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <functional>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/nn/activation.h"
#include "hftrain/nn/attention.h"
#include "hftrain/nn/causal_lm_loss.h"
#include "hftrain/nn/embedding.h"
#include "hftrain/nn/head_loss.h"
#include "hftrain/nn/linear.h"
#include "hftrain/nn/norm.h"
#include "hftrain/nn/rotary.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::nn {
namespace {

using Operator = std::function<at::Tensor(const std::vector<at::Tensor>&, Kernels)>;

at::Tensor random(at::IntArrayRef shape, uint64_t seed) {
  return at::randn(shape, at::detail::createCPUGenerator(seed));
}

// Output, then the gradients of Σ output·weights for fixed random weights.
std::vector<at::Tensor> evaluate(const Operator& apply, const std::vector<at::Tensor>& values,
                                 Kernels kernels) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& value : values) leaves.push_back(value.clone().requires_grad_(true));
  const at::Tensor output = apply(leaves, kernels);
  (output * random(output.sizes(), 99)).sum().backward();
  std::vector<at::Tensor> result{output.detach()};
  for (const at::Tensor& leaf : leaves) result.push_back(leaf.grad());
  return result;
}

void check_forms_agree(const Operator& apply, const std::vector<at::Tensor>& values,
                       double tolerance = 2e-5) {
  const auto fused = evaluate(apply, values, Kernels::kFused);
  const auto reference = evaluate(apply, values, Kernels::kReference);
  REQUIRE(fused.size() == reference.size());
  for (size_t i = 0; i < fused.size(); ++i) {
    INFO("tensor " << i << " (0: output, then gradients)");
    REQUIRE(fused[i].defined());
    REQUIRE(fused[i].sizes() == reference[i].sizes());
    CHECK((fused[i] - reference[i]).abs().max().item<double>() < tolerance);
  }
}

at::Tensor labels_with_gaps(int64_t vocab) {
  at::Tensor labels = at::randint(vocab, {3, 11}, at::detail::createCPUGenerator(5), at::kLong);
  labels[0].slice(0, 0, 4).fill_(kIgnoreIndex);
  labels[2].fill_(kIgnoreIndex);
  return labels;
}

}  // namespace

TEST_CASE("The forms of the gated activation agree") {
  for (const auto* name : {"silu", "gelu_pytorch_tanh", "relu"}) {
    const Activation activation = activation_by_name(name);
    check_forms_agree(
        [=](const auto& in, Kernels kernels) { return gated(activation, in[0], in[1], kernels); },
        {random({3, 7, 33}, 1) * 8, random({3, 7, 33}, 2)}, 1e-4);
  }
}

TEST_CASE("The norm by LibTorch's kernel is that of the composition, gradients included") {
  const auto forms = [](const std::vector<at::Tensor>& in, Kernels kernels) {
    if (kernels == Kernels::kFused) return rms_norm_of_library(in[0].transpose(0, 1), in[1], 1e-5);
    return rms_norm(in[0].transpose(0, 1), in[1], 1e-5, Kernels::kReference);
  };
  check_forms_agree(forms, {random({3, 7, 16}, 1), random({16}, 2)});
}

TEST_CASE("The forms of the tanh gelu agree, also far from zero") {
  check_forms_agree(
      [](const auto& in, Kernels kernels) { return activate(Activation::kGeluTanh, in[0], kernels); },
      {random({5, 7, 33}, 1) * 6});
  const at::Tensor far = at::tensor({-1e6f, -50.0f, -12.0f, 12.0f, 50.0f, 1e6f});
  CHECK(activate(Activation::kGeluTanh, far, Kernels::kFused)
            .allclose(activate(Activation::kGeluTanh, far, Kernels::kReference), 1e-6, 1e-6));
}

TEST_CASE("The exact gelu keeps its digits where almost nothing is left") {
  const at::Tensor x = at::tensor({-1e6f, -30.0f, -12.0f, -8.0f, -5.0f, -3.0f, -1e-3f, 0.0f, 4.0f, 1e6f});
  const at::Tensor fused = activate(Activation::kGelu, x, Kernels::kFused);
  const at::Tensor wide = x.to(at::kDouble), expected = wide * 0.5 * at::erfc(-wide / std::sqrt(2.0));
  CHECK(fused.to(at::kDouble).allclose(expected, 2e-5, 1e-36));
}

TEST_CASE("Silu stays finite and right where its exponential overflows or vanishes") {
  const at::Tensor gate = at::tensor({-1e4f, -100.0f, -88.0f, -20.0f, 0.0f, 20.0f, 88.0f, 100.0f, 1e4f});
  const at::Tensor up = at::ones_like(gate);
  const at::Tensor fused = gated(Activation::kSilu, gate, up, Kernels::kFused);
  CHECK(fused.allclose(activate(Activation::kSilu, gate, Kernels::kReference), 1e-6, 1e-30));
  CHECK(gated(Activation::kSilu, gate * NAN, up, Kernels::kFused).isnan().all().item<bool>());
}

TEST_CASE("YaRN keeps quick frequencies, divides slow ones by the factor, and scales both tables") {
  const RotarySetting yarn{.theta = 10000.0,
                           .scaling = RotaryScaling::kYarn,
                           .factor = 4.0,
                           .original_max_position = 32,
                           .beta_fast = 4.0,
                           .beta_slow = 1.0,
                           .attention_factor = 1.25};
  const RotaryTables tables = make_rotary_tables(yarn, 16, 2, at::kCPU);
  CHECK(at::equal(tables.cos[0], at::full({8}, 1.25)));
  CHECK(at::equal(tables.sin[0], at::zeros({8})));
  const at::Tensor turned = at::asin(tables.sin[1] / 1.25);  // by one position
  const at::Tensor base = at::pow(10000.0, -at::arange(0, 16, 2, at::kFloat) / 16);
  // By the paper's numbers: 0.21 from which on they are blended, taken as 0, and 1.41 behind which they are divided, taken as 2.
  const at::Tensor divided = at::tensor({0.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}, at::kFloat);
  CHECK(at::allclose(turned, base / 4 * divided + base * (1 - divided), 1e-4, 1e-6));
}

TEST_CASE("A rotation keeps lengths, and position 0 unchanged") {
  const RotaryTables tables = make_rotary_tables({}, 8, 12, at::kCPU);
  const at::Tensor x = random({1, 12, 2, 8}, 3), y = rotate(x, tables, Kernels::kFused);
  CHECK(y.norm(2, -1).allclose(x.norm(2, -1), 1e-5));
  CHECK(y.select(1, 0).equal(x.select(1, 0)));
}

TEST_CASE("An output of several products that nothing uses has no gradient to propagate") {
  at::Tensor x = random({2, 3, 4}, 1).requires_grad_(true);
  at::Tensor used = random({5, 4}, 2).requires_grad_(true), unused = random({5, 4}, 3).requires_grad_(true);
  linear_many(x, {used, unused}, {}, Kernels::kFused)[0].sum().backward();
  CHECK(x.grad().defined());
  CHECK((!unused.grad().defined() || unused.grad().abs().max().item<double>() == 0));
}

TEST_CASE("The forms of the head and its loss agree: mean, given count, smoothing, ignored labels") {
  const int64_t vocab = GENERATE(as<int64_t>(), 13, 64, 257);
  const double smoothing = GENERATE(0.0, 0.1);
  const bool counted = GENERATE(false, true);
  CausalLossOptions options;
  options.label_smoothing = smoothing;
  if (counted) options.num_items = at::scalar_tensor(50.0);
  const at::Tensor labels = labels_with_gaps(vocab);
  check_forms_agree(
      [&](const auto& in, Kernels kernels) { return causal_lm_loss(in[0], in[1], labels, options, kernels); },
      {random({3, 11, 6}, 1), random({vocab, 6}, 2)});
}

TEST_CASE("The head works in chunks without changing the sum") {
  const at::Tensor labels = at::randint(40, {6, 120}, at::detail::createCPUGenerator(1), at::kLong);
  const int64_t vocab = 20000;  // 209 rows fill the least chunk of 256; 720 rows need three
  check_forms_agree(
      [&](const auto& in, Kernels kernels) { return causal_lm_loss(in[0], in[1], labels, {}, kernels); },
      {random({6, 120, 4}, 1), random({vocab, 4}, 2)});
}

TEST_CASE("Without gradient the fused loss equals the one with gradient") {
  const at::Tensor hidden = random({3, 11, 6}, 1), weight = random({64, 6}, 2), labels = labels_with_gaps(64);
  const at::Tensor value = causal_lm_loss(hidden, weight, labels, {}, Kernels::kFused);
  const at::Tensor graph =
      causal_lm_loss(hidden.clone().requires_grad_(true), weight, labels, {}, Kernels::kFused);
  CHECK(value.item<float>() == Approx(graph.item<float>()).epsilon(1e-6));
  CHECK_FALSE(value.requires_grad());
}

TEST_CASE("A frozen head gets no gradient, and what it is applied to the same as before") {
  const at::Tensor labels = labels_with_gaps(32);
  const auto gradients = [&](bool trains, double factor) {
    at::Tensor hidden = random({3, 11, 6}, 1).requires_grad_(true);
    at::Tensor weight = random({32, 6}, 2).requires_grad_(trains),
               bias = random({32}, 3).requires_grad_(trains);
    const at::Tensor loss = head_loss(hidden, weight, bias, labels, {}, Kernels::kFused) * factor;
    loss.backward();
    CHECK(weight.grad().defined() == trains);
    CHECK(bias.grad().defined() == trains);
    return hidden.grad();
  };
  for (const double factor : {1.0, 3.5}) CHECK(gradients(false, factor).equal(gradients(true, factor)));
}

TEST_CASE("A gradient of the loss other than one scales both gradients") {
  const at::Tensor labels = labels_with_gaps(32);
  check_forms_agree([&](const auto& in,
                        Kernels kernels) { return causal_lm_loss(in[0], in[1], labels, {}, kernels) * 3.5; },
                    {random({3, 11, 6}, 1), random({32, 6}, 2)});
}

TEST_CASE("bfloat16 and float16 losses and gradients come close to float32") {
  const at::ScalarType dtype = GENERATE(at::kBFloat16, at::kHalf);
  const at::Tensor labels = labels_with_gaps(32);
  const std::vector<at::Tensor> values{random({3, 11, 6}, 1), random({32, 6}, 2)};
  const Operator apply = [&](const auto& in, Kernels kernels) {
    return causal_lm_loss(in[0].to(dtype), in[1].to(dtype), labels, {}, kernels).to(at::kFloat);
  };
  const auto half = evaluate(apply, values, Kernels::kFused);
  const auto full = evaluate(
      [&](const auto& in, Kernels kernels) { return causal_lm_loss(in[0], in[1], labels, {}, kernels); },
      values, Kernels::kReference);
  for (size_t i = 0; i < half.size(); ++i) {
    CHECK((half[i] - full[i]).abs().max().item<double>() < 2e-2 * full[i].abs().max().item<double>() + 1e-3);
  }
}

TEST_CASE("float16 gradients survive a divisor that would underflow before the loss scale is applied") {
  const at::Tensor labels = labels_with_gaps(32);
  CausalLossOptions options;
  options.num_items = at::scalar_tensor(1e7);
  at::Tensor hidden = random({3, 11, 6}, 1).to(at::kHalf).requires_grad_(true);
  const at::Tensor weight = random({32, 6}, 2).to(at::kHalf);
  (causal_lm_loss(hidden, weight, labels, options, Kernels::kFused) * 65536.0).backward();
  CHECK(hidden.grad().abs().max().item<float>() > 1e-4f);
}

TEST_CASE("Labels outside the vocabulary are a data error that names the label") {
  at::Tensor labels = labels_with_gaps(16);
  labels[1][3] = 16;
  const Kernels kernels = GENERATE(Kernels::kFused, Kernels::kReference);
  try {
    causal_lm_loss(random({3, 11, 6}, 1), random({16, 6}, 2), labels, {}, kernels);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK_THAT(error.render(), Catch::Contains("label 16"));
  }
}

TEST_CASE("A window of at least the sequence length is full causal attention") {
  const at::Tensor q = random({2, 6, 4, 8}, 1), k = random({2, 6, 2, 8}, 2), v = random({2, 6, 2, 8}, 3);
  AttentionOptions options{0.35, 0.0, std::nullopt};
  const at::Tensor full = causal_attention(q, k, v, options);
  options.window = 6;
  CHECK(causal_attention(q, k, v, options).equal(full));
  options.window = 1;  // each token sees itself only: the values, repeated over the query heads of a group
  CHECK(causal_attention(q, k, v, options).allclose(v.repeat_interleave(2, 2).reshape({2, 6, 32})));
}

TEST_CASE("Unknown activations are refused with the known names") {
  CHECK_REFUSED(activation_by_name("gelu_fancy"), "unknown activation function \"gelu_fancy\"");
  CHECK_REFUSED(activation_by_name("gelu_fancy"), "known ones: " + join(activation_names(), ", "));
  for (const auto* name : {"gelu", "gelu_new", "gelu_pytorch_tanh", "silu", "swish", "relu", "quick_gelu"}) {
    CHECK(activate(activation_by_name(name), random({4}, 1), Kernels::kFused).numel() == 4);
  }
}

TEST_CASE("Sequences longer than the learned positions are a data error") {
  CHECK_REFUSED(add_positions(random({1, 5, 2}, 1), random({4, 2}, 2)),
                "a sequence of 5 tokens is too long for the model");
  CHECK(add_positions(random({1, 4, 2}, 1), random({4, 2}, 2)).size(1) == 4);
}

TEST_CASE("NEFTune noise is bounded by alpha over the root of length times width") {
  const at::Tensor x = at::zeros({4, 16, 32});
  const double bound = 5.0 / std::sqrt(16.0 * 32.0);
  const at::Tensor noise = add_neftune_noise(x, 5.0);
  CHECK(noise.abs().max().item<double>() <= bound);
  CHECK(noise.abs().max().item<double>() > 0.95 * bound);
  CHECK(std::abs(noise.mean().item<double>()) < 0.05 * bound);
}

}  // namespace hftrain::nn

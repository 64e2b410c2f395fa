// Losses, embeddings, attention and the pooler where no other implementation is needed to say what is right.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <cmath>
#include <memory>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/nn/attention.h"
#include "hftrain/nn/embedding.h"
#include "hftrain/nn/loss.h"
#include "hftrain/nn/pooler.h"
#include "hftrain/nn/relative_position.h"
#include "hftrain/nn/widened.h"
#include "support/catch.h"
#include "support/skip.h"

namespace hftrain::nn {
namespace {

at::Tensor drawn(at::IntArrayRef shape, uint64_t seed) {
  return at::randn(shape, at::detail::createCPUGenerator(seed));
}

at::Tensor whole_numbers(std::vector<int64_t> values) {
  return at::tensor(values, at::kLong);
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.render();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("The losses of micro-batches with the divisor of the update add up to the loss of the whole") {
  const at::Tensor logits = drawn({8, 5}, 1), labels = whole_numbers({0, 1, -100, 3, 4, -100, -100, 2});
  LossOptions options;
  options.num_items = at::scalar_tensor(5.0);
  const at::Tensor parts = cross_entropy(logits.narrow(0, 0, 3), labels.narrow(0, 0, 3), options) +
                           cross_entropy(logits.narrow(0, 3, 5), labels.narrow(0, 3, 5), options);
  CHECK(parts.item<float>() == Approx(cross_entropy(logits, labels, {}).item<float>()).epsilon(1e-6));
}

TEST_CASE("A loss by probability is -p log p of each target, with p as a constant") {
  const at::Tensor logits = drawn({4, 5}, 1).requires_grad_(), labels = whole_numbers({0, 3, -100, 4});
  LossOptions options;
  options.by_probability = true;
  const at::Tensor loss = cross_entropy(logits, labels, options);
  loss.backward();
  const at::Tensor p = logits.detach().softmax(1);
  double wanted = 0;
  at::Tensor gradient = at::zeros_like(p);
  for (const int64_t row : {0, 1, 3}) {
    const int64_t label = labels[row].item<int64_t>();
    const double own = p[row][label].item<double>();
    wanted -= own * std::log(own) / 3;
    gradient[row] = p[row] * (own / 3);
    gradient[row][label] -= own / 3;
  }
  CHECK(loss.item<double>() == Approx(wanted).epsilon(1e-6));
  CHECK(at::allclose(logits.grad(), gradient, 1e-5, 1e-7));
}

TEST_CASE("A cross-entropy without any target is NaN as a mean, and zero with a divisor") {
  const at::Tensor logits = drawn({2, 5}, 1), labels = whole_numbers({-100, -100});
  LossOptions options;
  options.num_items = at::scalar_tensor(3.0);
  CHECK(std::isnan(cross_entropy(logits, labels, {}).item<float>()));
  CHECK(cross_entropy(logits, labels, options).item<float>() == 0.0f);
}

TEST_CASE("Losses of half precision are float32 and do not overflow where their sum would") {
  const at::ScalarType dtype = GENERATE(at::kHalf, at::kBFloat16);
  const at::Tensor far = at::full({4000, 2}, 200.0).to(dtype), zero = at::zeros({4000, 2}).to(dtype);
  const at::Tensor squared = mean_squared_error(far, zero, {});
  CHECK(squared.scalar_type() == at::kFloat);
  CHECK(squared.item<float>() == Approx(40000.0));
  CHECK(sigmoid_cross_entropy(far, zero, {}).item<float>() == Approx(200.0));
  const at::Tensor wrong = at::cat({zero.narrow(1, 0, 1), far.narrow(1, 0, 1)}, 1);
  CHECK(cross_entropy(wrong, at::zeros({4000}, at::kLong), {}).item<float>() == Approx(200.0));
}

TEST_CASE("A label out of range is told with the range and the label") {
  const std::string told = message_of([] { cross_entropy(drawn({2, 3}, 1), whole_numbers({0, 3}), {}); });
  CHECK_THAT(told, Catch::Contains("label 3 ") && Catch::Contains("0 to 2"));
}

TEST_CASE("The row of the padding token gets no gradient") {
  at::Tensor table = drawn({4, 3}, 1).requires_grad_(true);
  embed_tokens(table, whole_numbers({1, 2, 1, 3}).view({2, 2}), 1).sum().backward();
  CHECK(table.grad()[1].abs().max().item<float>() == 0.0f);
  CHECK(table.grad()[2].abs().max().item<float>() == 1.0f);
}

TEST_CASE("Positions may start behind a table's first rows, and are refused at its end") {
  const at::Tensor x = at::zeros({1, 3, 2}), table = drawn({5, 2}, 1);
  CHECK(add_positions(x, table, 2)[0].equal(table.narrow(0, 2, 3)));
  CHECK_THAT(message_of([&] {
               add_positions(at::zeros({1, 4, 2}), table, 2);
             }),
             Catch::Contains("of 4 tokens") && Catch::Contains("3 positions") &&
                 Catch::Contains("--max_seq_length"));
  const at::Tensor rows = whole_numbers({2, 1, 4}).view({1, 3});
  CHECK(add_position_rows(x, table, rows, 1)[0][2].equal(table[4]));
  CHECK_THAT(message_of([&] { add_position_rows(x, table, rows + 1, 1); }),
             Catch::Contains("of 4 tokens") && Catch::Contains("3 positions"));
}

TEST_CASE("Token types are added, default to 0 and are refused out of range") {
  const at::Tensor x = drawn({1, 3, 2}, 1), table = drawn({2, 2}, 2);
  const at::Tensor types = whole_numbers({0, 1, 1}).view({1, 3});
  CHECK(add_token_types(x, table, types)[0][2].equal(x[0][2] + table[1]));
  CHECK(add_token_types(x, table, at::Tensor()).equal(add_token_types(x, table, types * 0)));
  CHECK_THAT(message_of([&] { add_token_types(x, table, types + 1); }), Catch::Contains("token type 2"));
  CHECK_THAT(message_of([&] { add_token_types(x, table, types - 1); }), Catch::Contains("token type -1"));
}

TEST_CASE("Attention that hides keys equals attention without them") {
  const at::Tensor q = drawn({2, 4, 2, 8}, 1), k = drawn({2, 6, 2, 8}, 2), v = drawn({2, 6, 2, 8}, 3);
  AttentionMask mask;
  mask.padding = whole_numbers({1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0}).view({2, 6});
  const at::Tensor short_keys = k.narrow(1, 0, 3), short_values = v.narrow(1, 0, 3);
  CHECK(attention(q, k, v, mask, {}).allclose(attention(q, short_keys, short_values, {}, {}), 1e-5, 1e-6));
}

TEST_CASE("A padding that hides nothing changes no bit, causal or not, with grouped heads") {
  const bool causal = GENERATE(false, true);
  const at::Tensor q = drawn({2, 5, 4, 8}, 1), k = drawn({2, 5, 2, 8}, 2), v = drawn({2, 5, 2, 8}, 3);
  AttentionMask mask;
  mask.causal = causal;
  const at::Tensor without = attention(q, k, v, mask, {});
  mask.padding = at::ones({2, 5}, at::kLong);
  CHECK(attention(q, k, v, mask, {}).equal(without));
}

TEST_CASE("A query that sees no key gives zeros and finite gradients, in every dtype") {
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16, at::kDouble);
  const auto leaf = [&](uint64_t seed) { return drawn({2, 3, 2, 8}, seed).to(dtype).requires_grad_(true); };
  const at::Tensor q = leaf(1), k = leaf(2), v = leaf(3);
  AttentionMask mask;
  mask.padding = whole_numbers({0, 0, 0, 1, 1, 0}).view({2, 3});
  const at::Tensor out = attention(q, k, v, mask, {});
  CHECK(out[0].abs().max().item<float>() == 0.0f);
  CHECK(out[1].abs().max().item<float>() > 0.0f);
  (out * out).sum().backward();
  for (const at::Tensor& each : {q, k, v}) {
    CHECK(each.grad().isfinite().all().item<bool>());
    CHECK(each.grad()[0].abs().max().item<float>() == 0.0f);
  }
}

TEST_CASE("Attention over a sequence without places gives zeros and gradients") {
  const int64_t queries = GENERATE(0, 1, 5, 20);
  const auto leaf = [&](int64_t places, uint64_t seed) {
    return drawn({2, places, 2, 8}, seed).requires_grad_(true);
  };
  const at::Tensor q = leaf(queries, 1), k = leaf(0, 2), v = leaf(0, 3);
  const at::Tensor out = attention(q, k, v, {}, {});
  CHECK(out.sizes() == at::IntArrayRef({2, queries, 16}));
  CHECK(out.abs().sum().item<float>() == 0.0f);
  out.sum().backward();
  for (const at::Tensor& each : {q, k, v}) CHECK(each.grad().defined());
}

// LibTorch's backward pass in bfloat16 takes eight times as long there as the one in float32.
TEST_CASE(
    "Attention of bfloat16 is that of the same numbers in float32 where LibTorch has only loops for it") {
  if (!widens_bfloat16()) HFTRAIN_SKIP("this processor multiplies bfloat16 quicker");
  const bool with_bias = GENERATE(false, true), with_padding = GENERATE(false, true);
  AttentionMask mask;
  mask.causal = true;
  if (with_bias) mask.bias = drawn({1, 4, 5, 5}, 4).to(at::kBFloat16);
  if (with_padding) mask.padding = whole_numbers({1, 1, 1, 1, 0, 0, 1, 1, 1, 1}).view({2, 5});
  const auto run = [&](at::ScalarType dtype) {
    std::vector<at::Tensor> found;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const int64_t heads = seed == 1 ? 4 : 2;
      found.push_back(drawn({2, 5, heads, 8}, seed).to(at::kBFloat16).to(dtype).requires_grad_(true));
    }
    AttentionMask given = mask;
    if (given.bias.defined()) given.bias = given.bias.to(dtype);
    const at::Tensor out = attention(found[0], found[1], found[2], given, {.scale = 0.35});
    out.backward(drawn(out.sizes(), 5).to(at::kBFloat16).to(dtype));
    for (at::Tensor& leaf : found) leaf = leaf.grad();
    found.push_back(out.detach());
    return found;
  };
  const std::vector<at::Tensor> wide = run(at::kFloat), narrow = run(at::kBFloat16);
  for (size_t i = 0; i < wide.size(); ++i) {
    INFO("tensor " << i);
    CHECK(narrow[i].scalar_type() == at::kBFloat16);
    CHECK(narrow[i].equal(wide[i].to(at::kBFloat16)));
  }
}

class CountedBytes final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*at*/, int64_t bytes, size_t /*used*/, size_t /*reserved*/,
                         c10::Device /*device*/) override {
    bytes_ += bytes;
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

TEST_CASE("Attention of bfloat16 that is widened keeps its operands as they are for the way back") {
  if (!widens_bfloat16()) HFTRAIN_SKIP("this processor multiplies bfloat16 quicker");
  constexpr int64_t kNumbers = 64 * 4 * 16, kWide = 4, kNarrow = 2;
  const auto leaf = [](uint64_t seed) {
    return drawn({1, 64, 4, 16}, seed).to(at::kBFloat16).requires_grad_(true);
  };
  const at::Tensor q = leaf(1), k = leaf(2), v = leaf(3);
  const auto kept = std::make_shared<CountedBytes>();
  at::Tensor out;
  {
    const c10::DebugInfoGuard counting(c10::DebugInfoKind::PROFILER_STATE, kept);
    out = causal_attention(q, k, v, {.scale = 0.25});
  }
  CHECK(kept->bytes() >= kNumbers * (kWide + kNarrow));  // what comes out, before and after it is rounded
  CHECK(kept->bytes() < kNumbers * 2 * kWide);
}

TEST_CASE("A window cuts a causal attention with padding too") {
  const at::Tensor q = drawn({1, 4, 1, 8}, 1), k = drawn({1, 4, 1, 8}, 2), v = drawn({1, 4, 1, 8}, 3);
  AttentionMask mask;
  mask.causal = true;
  mask.padding = whole_numbers({0, 1, 1, 1}).view({1, 4});
  AttentionOptions options;
  options.window = 1;
  const at::Tensor out = attention(q, k, v, mask, options);
  CHECK(out[0][0].abs().max().item<float>() == 0.0f);
  CHECK(out[0].narrow(0, 1, 3).allclose(v[0].narrow(0, 1, 3).squeeze(1)));
}

TEST_CASE("The relative bias of a bucket is that head's number in the table") {
  const at::Tensor table = drawn({32, 3}, 1), buckets = relative_buckets(4, 6, {}, at::kCPU);
  const at::Tensor bias = relative_bias(table, buckets);
  CHECK(bias.sizes() == at::IntArrayRef({1, 3, 4, 6}));
  CHECK(bias[0][2][1][5].item<float>() == table[buckets[1][5].item<int64_t>()][2].item<float>());
}

TEST_CASE("Buckets that are asked for again are not computed again, and others get no part of them") {
  const RelativePositions other{16, 128, true};
  const at::Tensor first = relative_buckets(4, 6, {}, at::kCPU),
                   second = relative_buckets(4, 6, other, at::kCPU);
  CHECK(first.is_same(relative_buckets(4, 6, {}, at::kCPU)));
  CHECK(second.is_same(relative_buckets(4, 6, other, at::kCPU)));
  CHECK_FALSE(first.equal(second));
  CHECK(relative_buckets(4, 6, {}, at::kCPU, 2).equal(relative_buckets(6, 6, {}, at::kCPU).narrow(0, 2, 4)));
}

TEST_CASE("The pooler is tanh of a linear layer of the first token, or another activation") {
  const at::Tensor hidden = drawn({2, 3, 4}, 1), weight = drawn({5, 4}, 2), bias = drawn({5}, 3);
  const at::Tensor first = at::linear(hidden.select(1, 0), weight, bias);
  CHECK(pool_first_token(hidden, weight, bias).equal(at::tanh(first)));
  CHECK(pool_first_token(hidden, weight, bias, Activation::kRelu).equal(first.clamp_min(0)));
}

}  // namespace hftrain::nn

// Attention of the next tokens of texts: right, and the same for a query whatever stands beside it.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>

#include <limits>

#include "hftrain/nn/attention.h"
#include "hftrain/nn/product.h"
#include "support/catch.h"

namespace hftrain::nn {
namespace {

constexpr double kHidden = std::numeric_limits<double>::lowest();

at::Tensor numbers(at::IntArrayRef sizes, uint64_t seed) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed));
}

struct Step {
  at::Tensor query, key, value;
  AttentionMask mask;
  AttentionOptions options;

  at::Tensor attend() const {
    const NarrowProducts narrow;
    return attention(query, key, value, mask, options);
  }
  Step one(int64_t i) const {
    Step alone = *this;
    alone.query = query.narrow(1, i, 1);
    alone.mask.past = mask.past + i;
    const int64_t seen = alone.mask.past + 1;
    alone.key = key.narrow(1, 0, seen), alone.value = value.narrow(1, 0, seen);
    if (mask.padding.defined()) alone.mask.padding = mask.padding.narrow(1, 0, seen);
    if (mask.bias.defined()) alone.mask.bias = mask.bias.narrow(2, i, 1).narrow(3, 0, seen);
    return alone;
  }
};

// Keys and values as a cache has them: a part of more room.
Step step_of(int64_t queries, int64_t past) {
  Step step;
  const int64_t places = past + queries;
  step.query = numbers({3, queries, 3, 4, 20}, 1).select(2, 1);
  step.key = numbers({3, places + 9, 2, 20}, 2).narrow(1, 0, places);
  step.value = numbers({3, places + 9, 2, 20}, 3).narrow(1, 0, places);
  step.mask.causal = true;
  step.mask.past = past;
  step.options.scale = 0.3;
  return step;
}

// Written out in float64.
at::Tensor exact(const Step& step) {
  const int64_t queries = step.query.size(1), places = step.key.size(1);
  const auto heads_first = [&](const at::Tensor& x) {
    return x.to(at::kDouble).transpose(1, 2).repeat_interleave(step.query.size(2) / x.size(2), 1);
  };
  at::Tensor scores =
      heads_first(step.query).matmul(heads_first(step.key).transpose(2, 3)) * step.options.scale;
  const at::Tensor own = at::arange(queries).view({-1, 1}) + step.mask.past, place = at::arange(places);
  at::Tensor seen = step.mask.causal ? place <= own : at::ones({queries, places}, at::kBool);
  if (step.mask.causal && step.options.window) seen = seen & (place > own - *step.options.window);
  seen = seen.view({1, 1, queries, places});
  if (step.mask.padding.defined()) seen = seen & step.mask.padding.to(at::kBool).view({3, 1, 1, places});
  if (step.mask.bias.defined()) scores = scores + step.mask.bias;
  const at::Tensor hidden = at::full({}, kHidden, at::kDouble);
  const at::Tensor out = at::where(seen, scores, hidden).softmax(-1).matmul(heads_first(step.value));
  return (out * seen.any(-1, true)).transpose(1, 2).reshape({3, queries, -1});
}

double difference(const Step& step) {
  return (step.attend().to(at::kDouble) - exact(step)).abs().max().item<double>();
}

}  // namespace

TEST_CASE("the next tokens of texts attend to all before them, a window or a mask of it") {
  for (const int64_t queries : {1, 2, 5, 16, 17}) {
    for (const int64_t past : {1, 2, 3, 37}) {
      INFO(queries << " behind " << past);
      Step step = step_of(queries, past);
      CHECK(difference(step) < 2e-6);
      step.options.window = 3;
      CHECK(difference(step) < 2e-6);
      step.mask.padding = at::ones({3, past + queries}, at::kLong);
      step.mask.padding[1].narrow(0, 0, past).zero_();
      CHECK(difference(step) < 2e-6);
      step.options.window.reset();
      CHECK(difference(step) < 2e-6);
      step.mask.bias = numbers({1, 4, queries, past + queries}, 4);
      CHECK(difference(step) < 2e-6);
    }
  }
}

TEST_CASE("one query over another sequence sees all of it that is no padding, and zeros where that is all") {
  Step step = step_of(1, 12);
  step.mask.causal = false, step.mask.past = 0;
  CHECK(difference(step) < 2e-6);
  step.mask.padding = at::ones({3, 13}, at::kLong);
  step.mask.padding[0].narrow(0, 4, 9).zero_();
  step.mask.padding[2].zero_();
  CHECK(difference(step) < 2e-6);
  CHECK(step.attend()[2].abs().max().item<float>() == 0.0F);
}

TEST_CASE("a query behind others has the bits that it has alone, whatever the threads") {
  const int threads = at::get_num_threads();
  const int64_t queries = GENERATE(2, 16, 20);
  const bool with_bias = GENERATE(false, true), with_padding = GENERATE(false, true);
  Step step = step_of(queries, 41);
  if (with_bias) step.mask.bias = numbers({1, 4, queries, 41 + queries}, 4);
  if (with_padding) {
    step.mask.padding = at::ones({3, 41 + queries}, at::kLong);
    step.mask.padding[1].narrow(0, 0, 7).zero_();
  }
  const at::Tensor together = step.attend();
  for (int64_t i = 0; i < queries; ++i) CHECK(step.one(i).attend().equal(together.narrow(1, i, 1)));
  at::set_num_threads(1);
  CHECK(step.attend().equal(together));
  at::set_num_threads(threads);
}

TEST_CASE("scores that are no numbers leave none behind") {
  Step step = step_of(1, 12);
  step.key = step.key.clone();
  step.key.select(1, 5).fill_(std::numeric_limits<float>::quiet_NaN());
  CHECK(step.attend().isnan().all().item<bool>());
  step.key.fill_(std::numeric_limits<float>::quiet_NaN());
  CHECK(step.attend().isnan().all().item<bool>());
}

}  // namespace hftrain::nn

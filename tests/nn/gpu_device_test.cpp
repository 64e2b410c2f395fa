// What a run takes for granted of a GPU: its memory, its random numbers, its attention kernels, and NCCL, which a run of one rank
// never calls.
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include <torch/csrc/autograd/autograd.h>
#include <cmath>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "hftrain/base/error.h"
#include "hftrain/nn/attention.h"
#include "hftrain/nn/document_attention.h"
#include "hftrain/runtime/random_state.h"
#include "hftrain/runtime/translate.h"
#include "nn/gpu.h"
#include "support/catch.h"
#include "support/skip.h"

namespace hftrain::nn {
namespace {

const at::Device kDevice(at::kCUDA, 0);

at::TensorOptions there(at::ScalarType dtype) {
  return at::TensorOptions(kDevice).dtype(dtype);
}

double apart(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

// The share of attention's weights that are dropped out: all weights are alike, and the values tell them apart.
double dropped_share(at::ScalarType dtype, double probability, bool padded) {
  constexpr int64_t kPlaces = 64;
  const at::Tensor query = at::zeros({64, kPlaces, 2, kPlaces}, there(dtype));
  const at::Tensor value =
      at::eye(kPlaces, there(dtype)).view({1, kPlaces, 1, kPlaces}).expand({64, kPlaces, 2, kPlaces});
  AttentionMask mask;
  if (padded) {
    mask.padding = at::full({64, kPlaces}, 1, there(at::kLong));
    mask.padding.narrow(1, 0, 1).zero_();
  }
  const at::Tensor out = attention(query, query, value, mask, {.dropout = probability});
  const at::Tensor weights = out.view({64, kPlaces, 2, kPlaces}).narrow(3, padded ? 1 : 0, kPlaces - 1);
  return (weights == 0).to(at::kDouble).mean().item<double>();
}

}  // namespace

TEST_CASE("attention drops out the share that was asked for", "[gpu]") {
  if (testing::gpu().plugin == nullptr) HFTRAIN_SKIP(testing::gpu().missing);
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const bool padded = GENERATE(false, true);
  INFO(dtype << (padded ? ", padded" : ""));
  for (const double probability : {0.1, 0.05})
    CHECK(std::abs(dropped_share(dtype, probability, padded) - probability) < 0.005);
}

TEST_CASE("a mask that layers share gives what the CPU gives, grouped heads and windows included", "[gpu]") {
  if (testing::gpu().plugin == nullptr) HFTRAIN_SKIP(testing::gpu().missing);
  const int64_t heads = GENERATE(4, 2);
  const std::optional<int64_t> window = GENERATE(std::optional<int64_t>(), std::optional<int64_t>(3));
  const at::Tensor query = at::rand({2, 13, 4, 16}), key = at::rand({2, 13, heads, 16});
  AttentionMask mask{.causal = true, .padding = at::full({2, 13}, 1, at::kLong)};
  mask.padding.narrow(0, 0, 1).narrow(1, 0, 5).zero_();
  const AttentionOptions options{.scale = 0.25, .window = window};
  const at::Tensor expected = attention(query, key, key, mask, options);
  mask.padding = mask.padding.to(kDevice);
  mask.shared = std::make_shared<SharedMasks>();
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor q = query.to(kDevice, dtype), k = key.to(kDevice, dtype);
    CHECK(apart(attention(q, k, k, mask, options).cpu(), expected) < (dtype == at::kFloat ? 1e-5 : 2e-2));
  }
}

TEST_CASE("the device's random numbers go on where they were", "[gpu]") {
  if (testing::gpu().plugin == nullptr) HFTRAIN_SKIP(testing::gpu().missing);
  const auto device = testing::gpu().plugin->make_runtime();
  device->set_current(kDevice);
  runtime::seed_generators(7, *device, kDevice);
  const runtime::RandomState state = runtime::capture_random_state(*device, kDevice);
  const at::Tensor first = at::rand({100}, there(at::kFloat));
  CHECK(apart(first, at::rand({100}, there(at::kFloat))) > 0);
  runtime::restore_random_state(state, *device, kDevice);
  CHECK(apart(first, at::rand({100}, there(at::kFloat))) == 0);
}

TEST_CASE("the device's memory is counted, and too much of it is an error of its own", "[gpu]") {
  if (testing::gpu().plugin == nullptr) HFTRAIN_SKIP(testing::gpu().missing);
  const auto device = testing::gpu().plugin->make_runtime();
  device->set_current(kDevice);
  const int64_t before = device->memory(kDevice).allocated;
  {
    const at::Tensor held = at::empty({int64_t{1} << 28}, there(at::kFloat));
    CHECK(device->memory(kDevice).allocated - before == int64_t{1} << 30);
  }
  CHECK(device->memory(kDevice).allocated == before);
  CHECK(device->memory(kDevice).peak_allocated >= before + (int64_t{1} << 30));
  try {
    runtime::translate_exceptions([&] { return at::empty({int64_t{1} << 40}, there(at::kFloat)).numel(); });
    FAIL("there is a device of 4 TiB");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDeviceMemory);
  }
}

TEST_CASE("NCCL's collectives work among one rank", "[gpu]") {
  if (testing::gpu().plugin == nullptr) HFTRAIN_SKIP(testing::gpu().missing);
  testing::gpu().plugin->make_runtime()->set_current(kDevice);
  const auto backend = testing::gpu().plugin->make_nccl_backend(c10::make_intrusive<c10d::HashStore>(), 0, 1,
                                                                kDevice, std::chrono::seconds(30));
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16);
  at::Tensor numbers = at::arange(6, there(dtype)), result = at::zeros({6}, there(dtype));
  std::vector<at::Tensor> in{numbers};
  backend->allreduce(in, {.reduceOp = c10d::ReduceOp::AVG})->wait();
  backend->broadcast(in, {})->wait();
  backend->_allgather_base(result, numbers, {})->wait();
  CHECK(apart(result, at::arange(6, there(dtype))) == 0);
  backend->_reduce_scatter_base(result.zero_(), numbers, {.reduceOp = c10d::ReduceOp::SUM})->wait();
  CHECK(apart(result, at::arange(6, there(dtype))) == 0);
  std::vector<at::Tensor> out{result.zero_()};
  backend->allgather_into_tensor_coalesced(out, in, {})->wait();
  CHECK(apart(result, at::arange(6, there(dtype))) == 0);
  auto held = at::ones({int64_t{1} << 20}, there(dtype));
  std::vector<at::Tensor> reduced{held};
  auto work = backend->allreduce(reduced, {});
  const auto watched = testing::gpu().plugin->without_outputs(work);
  work->wait();
  work.reset();
  reduced.clear();
  CHECK(held.use_count() == 1);  // though `watched` lives
  held.reset();
  testing::gpu().plugin->make_runtime()->synchronise(kDevice);
  CHECK(watched->isCompleted());
  CHECK_FALSE(watched->exception());
  backend->barrier({})->wait();
  backend->shutdown();
}

// The result of documents that attend and their gradients, in float32.
std::vector<at::Tensor> learnt_within(const std::vector<at::Tensor>& inputs, const AttentionMask& mask,
                                      const AttentionOptions& options) {
  const at::Tensor out = attention(inputs[0], inputs[1], inputs[2], mask, options);
  const at::Tensor weights = at::arange(out.numel(), there(at::kFloat)).view(out.sizes()).sin();
  std::vector<at::Tensor> all = torch::autograd::grad({(out * weights).sum()}, inputs);
  all.push_back(out);
  for (at::Tensor& each : all) each = each.to(at::kFloat);
  return all;
}

TEST_CASE("documents in one call on a GPU learn what each by itself does", "[gpu]") {
  if (testing::gpu().plugin == nullptr) HFTRAIN_SKIP(testing::gpu().missing);
  const at::ScalarType dtype = GENERATE(at::kBFloat16, at::kHalf);
  const int64_t groups = GENERATE(4, 2);
  const std::optional<int64_t> window =
      GENERATE(as<std::optional<int64_t>>{}, std::nullopt, std::optional<int64_t>(4));
  INFO(dtype << ", " << groups << " groups, a window of " << window.value_or(0));
  std::vector<at::Tensor> inputs;
  for (const int64_t heads : {int64_t{4}, groups, groups})
    inputs.push_back((at::rand({2, 12, heads, 64}, there(dtype)) - 0.5).requires_grad_(true));
  const AttentionOptions options{.scale = 0.3, .window = window};
  AttentionMask mask{.causal = true, .documents = {5, 1, 6, 9, 3}};
  const std::vector<at::Tensor> each = learnt_within(inputs, mask, options);
  CHECK(takes_documents_at_once(inputs[0], inputs[1], inputs[2], 9, options));
  mask.shared = std::make_shared<SharedMasks>(true);
  const std::vector<at::Tensor> together = learnt_within(inputs, mask, options);
  for (size_t i = 0; i < each.size(); ++i) CHECK(at::allclose(together[i], each[i], 2e-2, 2e-2));
}

}  // namespace hftrain::nn

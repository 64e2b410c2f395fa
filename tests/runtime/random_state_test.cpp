#include "hftrain/runtime/random_state.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>

#include <vector>

#include "hftrain/base/error.h"
#include "support/catch.h"

using namespace hftrain;

namespace {
const c10::Device kCpu(c10::DeviceType::CPU);
}

TEST_CASE("the CPU stream for a seed is the one of torch.manual_seed") {
  const auto device = runtime::make_cpu_runtime();
  runtime::seed_generators(42, *device, kCpu);
  // torch.manual_seed(42); torch.randperm(8)
  const std::vector<int64_t> expected = {6, 3, 0, 7, 2, 1, 4, 5};
  const at::Tensor drawn = at::randperm(8, at::kLong);
  CHECK(std::vector<int64_t>(drawn.const_data_ptr<int64_t>(), drawn.const_data_ptr<int64_t>() + 8) ==
        expected);
}

TEST_CASE("a restored stream goes on where it was captured, pending normal number included") {
  const auto device = runtime::make_cpu_runtime();
  runtime::seed_generators(7, *device, kCpu);
  at::randn({3});  // an odd count leaves half a Box-Muller pair behind
  const runtime::RandomState state = runtime::capture_random_state(*device, kCpu);
  const at::Tensor first = at::randn({33});
  at::randn({1000});
  runtime::restore_random_state(state, *device, kCpu);
  CHECK(at::equal(at::randn({33}), first));
  CHECK(state.device.empty());
}

TEST_CASE("what a run on the CPU leaves behind has no streams of a GPU") {
  const c10::Device gpu(c10::DeviceType::CUDA, 0);
  CHECK(runtime::has_streams_of({"cpu", ""}, kCpu));
  CHECK_FALSE(runtime::has_streams_of({"cpu", ""}, gpu));
  CHECK(runtime::has_streams_of({"cpu", "gpu"}, gpu));
  CHECK_FALSE(runtime::has_streams_of({"cpu", "gpu"}, kCpu));
  CHECK_FALSE(runtime::has_streams_of({"", ""}, kCpu));
  // What torch.cuda.get_rng_state() gives after torch.cuda.manual_seed(42), and once numbers were drawn.
  std::string state(16, '\0');
  state[0] = 42;
  CHECK(runtime::has_streams_of({"cpu", state}, kCpu));
  CHECK(runtime::has_streams_of({"cpu", state}, gpu));
  state[8] = 4;
  CHECK_FALSE(runtime::has_streams_of({"cpu", state}, kCpu));
}

TEST_CASE("bytes that are no random state are refused as bad data") {
  const auto device = runtime::make_cpu_runtime();
  runtime::RandomState state = runtime::capture_random_state(*device, kCpu);
  state.cpu.pop_back();
  try {
    runtime::restore_random_state(state, *device, kCpu);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
  }
}

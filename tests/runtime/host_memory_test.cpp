#include "hftrain/runtime/host_memory.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <cstring>
#include <new>
#include <vector>

#include "hftrain/runtime/translate.h"
#include "support/catch.h"

using namespace hftrain;

TEST_CASE("the resident size grows by memory that is written") {
  const auto before = runtime::host_memory();
  std::vector<char> block(64 << 20, 'x');
  const auto after = runtime::host_memory();
  CHECK(before.resident > 1 << 20);
  CHECK(after.resident - before.resident > 60 << 20);
  CHECK(after.peak_resident >= after.resident);
  CHECK(block.back() == 'x');
}

TEST_CASE("the peak can be restarted, and then forgets what was freed") {
  {
    std::vector<char> block(64 << 20, 'x');
    CHECK(block.back() == 'x');
  }
  const auto peak = runtime::host_memory().peak_resident;
  if (!runtime::restart_host_peak()) {
    WARN("this kernel does not let a process restart its peak");
    return;
  }
  CHECK(runtime::host_memory().peak_resident < peak - (32 << 20));
}

TEST_CASE("running out of host memory is told apart from other errors of LibTorch") {
  runtime::install_host_allocator();
  CHECK(at::ones({3}).sum().item<float>() == 3.0f);
  const auto too_much = [] { return at::empty({int64_t{1} << 52}, at::kFloat); };
  CHECK_THROWS_AS(too_much(), std::bad_alloc);
  try {
    runtime::translate_exceptions(too_much);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kHostMemory);
  }
  CHECK(at::ones({3}).sum().item<float>() == 3.0f);
}

// The operators on a GPU, generated over the same table as on the CPU. Loads the real plug-in, which is for ever, so it
// is a program of its own.
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include "hftrain/base/error.h"
#include "hftrain/runtime/translate.h"
#include "nn/gpu.h"
#include "operator_cases.h"
#include "support/catch.h"
#include "support/skip.h"

namespace hftrain::nn {

TEST_CASE("Where nvcc compiled them the plug-in registers every kernel of the table for CUDA", "[plugin]") {
  testing::gpu();  // the library is loaded before its GPU is asked for
  size_t rows = 0;
  for (const ops::KernelRow& row : ops::kernel_table()) {
    if (row.device != c10::DeviceType::CUDA) continue;
    ++rows;
    INFO(ops::schema_names(row.op).front());
    CHECK(ops::is_registered(row.op, row.device) == HFTRAIN_HAS_CUDA_KERNELS);
    CHECK(ops::has_kernel(row.op, row.device, at::kBFloat16) == HFTRAIN_HAS_CUDA_KERNELS);
    CHECK_FALSE(ops::has_kernel(row.op, row.device, at::kDouble));
  }
  CHECK(rows == 5);
}

TEST_CASE("The forms of every operator agree with the composition in float64, on a GPU in every dtype",
          "[gpu][kernels]") {
  if (testing::gpu().plugin == nullptr) HFTRAIN_SKIP(testing::gpu().missing);
  const cases::OperatorCase& each = GENERATE(from_range(cases::operator_cases()));
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kBFloat16, at::kHalf, at::kDouble);
  INFO(each.name << " in " << dtype);
  cases::check_operator(each, at::Device(at::kCUDA, 0), dtype);
}

// In a process of its own: the device is of no use to it afterwards.
TEST_CASE("A kernel that reads outside its memory ends as an error of the device", "[.poisoned]") {
  if (testing::gpu().plugin == nullptr) HFTRAIN_SKIP(testing::gpu().missing);
  const at::Tensor table = at::ones({4, 2}, at::TensorOptions().device(at::Device(at::kCUDA, 0)));
  const at::Tensor outside =
      at::full({3}, int64_t{1} << 20, at::TensorOptions(table.device()).dtype(at::kLong));
  try {
    runtime::translate_exceptions([&] { return at::embedding(table, outside).sum().item<float>(); });
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK(error.diagnostics().front().what == "the device reported an error");
  }
}

}  // namespace hftrain::nn

#include "hftrain/runtime/translate.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "support/catch.h"

using namespace hftrain;

namespace {

template <typename Callable>
Error error_of(Callable callable) {
  try {
    runtime::translate_exceptions(callable);
  } catch (const Error& error) {
    return error;
  }
  return Error(ExitCode::kDone, "nothing was thrown");
}

}  // namespace

TEST_CASE("every foreign exception gets the exit code of its kind") {
  CHECK(error_of([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "no more"); }).code() ==
        ExitCode::kDeviceMemory);
  CHECK(error_of([] { throw std::bad_alloc(); }).code() == ExitCode::kHostMemory);
  CHECK(error_of([] { TORCH_CHECK_WITH(DistBackendError, false, "gone"); }).code() == ExitCode::kWorkerLost);
  CHECK(error_of([] { TORCH_CHECK_WITH(DistStoreError, false, "gone"); }).code() == ExitCode::kWorkerLost);
  CHECK(error_of([] { at::ones({2}).add(at::ones({3})); }).code() == ExitCode::kInternal);
  CHECK(error_of([] {
          throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 710, "device-side assert triggered");
        }).code() == ExitCode::kEnvironment);
  CHECK(error_of([] {
          throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 2, "out of memory");
        }).code() == ExitCode::kDeviceMemory);
  CHECK(error_of([] {
          TORCH_CHECK(false, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`");
        }).code() == ExitCode::kDeviceMemory);
  CHECK(error_of([] {
          TORCH_CHECK(false, "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED");
        }).code() == ExitCode::kDeviceMemory);
  CHECK(error_of([] {
          throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
        }).code() == ExitCode::kEnvironment);
  CHECK(error_of([] { throw std::runtime_error("odd"); }).code() == ExitCode::kInternal);
  CHECK(error_of([] { throw 3; }).code() == ExitCode::kInternal);
}

TEST_CASE("the message of LibTorch is kept, without its backtrace") {
  const Error error = error_of([] { at::ones({2}).add(at::ones({3})); });
  CHECK(error.diagnostics().front().why.find("must match the size") != std::string::npos);
  CHECK(error.diagnostics().front().why.find("frame #") == std::string::npos);
}

TEST_CASE("an error of the device says that it may come late, and how to see where it comes from") {
  const Error error = error_of([] {
    throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 710, "device-side assert triggered");
  });
  const Diagnostic& told = error.diagnostics().front();
  CHECK(told.what == "the device reported an error");
  CHECK(told.why.find("device-side assert triggered") != std::string::npos);
  CHECK_FALSE(told.where.empty());
  CHECK(told.hint.find("CUDA_LAUNCH_BLOCKING=1") != std::string::npos);
}

TEST_CASE("our own error passes with all its parts, and results pass by value and by reference") {
  const Error error = error_of([] { throw Error(ExitCode::kData, "a").where("b").why("c").hint("d"); });
  CHECK(error.code() == ExitCode::kData);
  CHECK(error.diagnostics().front().hint == "d");
  int value = 1;
  runtime::translate_exceptions([&]() -> int& { return value; }) = 5;
  CHECK(value == 5);
}

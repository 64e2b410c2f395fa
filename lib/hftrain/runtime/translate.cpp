#include "hftrain/runtime/translate.h"

#include <c10/util/Exception.h>

#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "hftrain/base/caught_error.h"

namespace hftrain::runtime {
namespace {

constexpr int kCudaOutOfMemory = 2;  // cudaErrorMemoryAllocation

// LibTorch's allocator has a type for it; contexts, kernels that are loaded late, pinned memory and the libraries beside it have not.
Error out_of_device_memory(const c10::Error& error, const std::string& where) {
  return Error(ExitCode::kDeviceMemory, "the device is out of memory")
      .where(where)
      .why(error.what_without_backtrace())
      .hint(
          "a smaller --per_device_train_batch_size with more --gradient_accumulation_steps, "
          "--gradient_checkpointing, or a sharded strategy");
}

bool is_failed_allocation(const c10::Error& error) {
  const std::string_view what = error.what_without_backtrace();
  return what.find("_STATUS_ALLOC_FAILED") != std::string_view::npos ||  // cuBLAS
         what.find("ALLOCATION_FAILED") != std::string_view::npos;       // cuDNN 9
}

Error device_error(const c10::AcceleratorError& error) {
  if (error.get_error_code() == kCudaOutOfMemory)
    return out_of_device_memory(error, "the GPU of this rank, or host memory that is pinned for it");
  return Error(ExitCode::kEnvironment, "the device reported an error")
      .where("an operation that the device was behind with: what the host came to is not what failed")
      .why(error.what_without_backtrace())
      .hint(
          "CUDA_LAUNCH_BLOCKING=1 lets the operation itself tell; if another GPU does the same without an "
          "error, look for this one's Xid in the kernel's log (dmesg)");
}

Error library_error(const c10::Error& error) {
  if (is_failed_allocation(error)) return out_of_device_memory(error, "the GPU of this rank");
  return Error(ExitCode::kInternal, "LibTorch reported an error").why(error.what_without_backtrace());
}

}  // namespace

Error translate(const std::exception_ptr& foreign) {
  try {
    std::rethrow_exception(foreign);
  } catch (const Error& error) {
    return error;
  } catch (const c10::OutOfMemoryError& error) {
    return out_of_device_memory(error, "the GPU of this rank");
  } catch (const std::bad_alloc&) {
    return out_of_host_memory(
        "a smaller --per_device_train_batch_size with more --gradient_accumulation_steps, "
        "--gradient_checkpointing, or fewer ranks on this machine");
  } catch (const c10::DistError& error) {
    return Error(ExitCode::kWorkerLost, "communication with the other ranks failed")
        .where("between the ranks")
        .why(error.what_without_backtrace())
        .hint("see which rank failed first: the others fail because of it");
  } catch (const c10::AcceleratorError& error) {
    return device_error(error);
  } catch (const c10::Error& error) {
    return library_error(error);
  } catch (const std::system_error&) {
    return error_of(foreign);
  } catch (const std::exception& error) {
    return Error(ExitCode::kInternal, "unexpected error").why(error.what());
  } catch (...) {
    return Error(ExitCode::kInternal, "unexpected error of unknown type");
  }
}

}  // namespace hftrain::runtime

// Foreign exceptions of LibTorch and the standard library, made into hftrain::Error in one place.
//
//   c10::OutOfMemoryError        -> kDeviceMemory
//   std::bad_alloc               -> kHostMemory (CPU tensors too: see install_tensor_memory)
//   c10::DistError               -> kWorkerLost: a process group or its store; comm adds who is missing
//   c10::AcceleratorError        -> kEnvironment
//   any other std::exception     -> kInternal, but for std::system_error: see base/caught_error.h
//
// An hftrain::Error passes unchanged.
#pragma once

#include <exception>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::runtime {

Error translate(const std::exception_ptr& foreign);

// Calls `callable` and returns what it returns; whatever it throws leaves as hftrain::Error.
template <typename Callable>
decltype(auto) translate_exceptions(Callable&& callable) {
  try {
    return std::forward<Callable>(callable)();
  } catch (const Error&) {
    throw;
  } catch (...) {
    throw translate(std::current_exception());
  }
}

}  // namespace hftrain::runtime

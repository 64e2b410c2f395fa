// Foreign exceptions above the line.
#pragma once

#include <exception>
#include <string>

#include "hftrain/base/error.h"

namespace hftrain {

// What was caught, as an Error: an Error itself is given back as it is; no memory is kHostMemory, a failure
// of the file system what system_error() makes of it, a thread that the system does not start kEnvironment, and
// anything else kInternal. Below the line runtime/translate.h knows LibTorch's as well.
Error error_of(const std::exception_ptr& caught);

// The system gave no memory: exit code kHostMemory. `hint` says what needs less.
Error out_of_host_memory(std::string hint);

}  // namespace hftrain

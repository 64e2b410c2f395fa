// Foreign exceptions above the line.
#pragma once

#include <exception>

#include "hftrain/base/error.h"

namespace hftrain {

// What was caught, as an Error: an Error itself is given back as it is; no memory is kHostMemory, a failure
// of the file system what system_error() makes of it, and anything else kInternal. Below the line
// runtime/translate.h knows LibTorch's as well.
Error error_of(const std::exception_ptr& caught);

}  // namespace hftrain

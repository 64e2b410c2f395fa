// A device that failed, where nobody can catch what it throws.
#pragma once

#include <functional>

#include "hftrain/base/error.h"

namespace hftrain::runtime {

// Once a device has failed, each call of it throws c10::AcceleratorError; so does giving back pinned memory that a copy has used
// (CachingHostAllocator.h of LibTorch 2.11, mended by pytorch#178154), while the first one unwinds, in a destructor: the process
// would end by SIGABRT before anybody has said why. While it lives such an end calls `leave` with the translated error,
// which tells it and ends the process with its exit code; by any thread, and without throwing. Any other end is as before. One at
// a time.
class FailedDeviceReport {
 public:
  explicit FailedDeviceReport(std::function<void(const Error&)> leave);
  ~FailedDeviceReport();
  FailedDeviceReport(const FailedDeviceReport&) = delete;
  FailedDeviceReport& operator=(const FailedDeviceReport&) = delete;
};

}  // namespace hftrain::runtime

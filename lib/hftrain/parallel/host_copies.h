// Gradients on their way from a device to the host, where offloaded optimizer states wait for them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace hftrain::parallel {

// Copies that run while the device computes. One thread at a time; what is copied must be changed by nobody, and `there`
// not even read, before wait() of a later mark.
class HostCopies {
 public:
  using Mark = int64_t;  // a point behind all copies that were started before it

  virtual ~HostCopies() = default;
  // From a device to pinned memory of the same sizes; dtypes may differ. What the device has still to compute for
  // `source` is waited for there, not here.
  virtual void start(const at::Tensor& there, const at::Tensor& source) = 0;
  virtual Mark mark() = 0;
  // Returns when everything before `mark` is there.
  virtual void wait(Mark mark) = 0;
};

// Copies on a stream of their own. Null for the CPU, whose tensors are there already.
std::unique_ptr<HostCopies> make_host_copies(at::Device device);

}  // namespace hftrain::parallel

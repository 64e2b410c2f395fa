// What is offloaded on its way: gradients from a device to the host, where the optimizer's states wait for them, and parameters back.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
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

  // `work` tells the device of copies to it and of what follows from them. They run behind what it was told before, beside what it is
  // told from now on. The mark is of fetches alone.
  virtual Mark fetch(std::function<void()> work) = 0;
  // What the device is told from here on runs behind that fetch. Nobody waits here.
  virtual void use(Mark fetch) = 0;
  // Returns when all fetches are over: what they read may change.
  virtual void wait_for_fetches() = 0;
};

// Copies on two streams of their own, one for each way. Null for the CPU, whose tensors are there already.
std::unique_ptr<HostCopies> make_host_copies(at::Device device);

}  // namespace hftrain::parallel

#include "hftrain/runtime/thread_device.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace hftrain::runtime {

void work_for(c10::Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
}

}  // namespace hftrain::runtime

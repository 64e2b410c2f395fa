#include "hftrain/runtime/failed_device.h"

#include <c10/util/Exception.h>

#include <exception>
#include <utility>

#include "hftrain/runtime/translate.h"

namespace hftrain::runtime {
namespace {

std::function<void(const Error&)> leave_with;
std::terminate_handler handler_before = nullptr;

void leave_for_device() {
  if (const std::exception_ptr failure = std::current_exception()) {
    try {
      std::rethrow_exception(failure);
    } catch (const c10::AcceleratorError&) {
      leave_with(translate(failure));
    } catch (...) {
      // Not a device's.
    }
  }
  handler_before();  // which ends the process
}

}  // namespace

FailedDeviceReport::FailedDeviceReport(std::function<void(const Error&)> leave) {
  leave_with = std::move(leave);
  handler_before = std::set_terminate(&leave_for_device);
}

FailedDeviceReport::~FailedDeviceReport() {
  std::set_terminate(handler_before);
  leave_with = nullptr;
}

}  // namespace hftrain::runtime

#include "hftrain/runtime/failed_device.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <utility>

#include "hftrain/runtime/translate.h"

namespace hftrain::runtime {
namespace {

std::function<void(const Error&)> told;
std::terminate_handler before = nullptr;

[[noreturn]] void end() {
  if (const std::exception_ptr failure = std::current_exception()) {
    try {
      std::rethrow_exception(failure);
    } catch (const c10::AcceleratorError&) {
      const Error error = translate(failure);
      told(error);
      ::_exit(static_cast<int>(error.code()));
    } catch (...) {
      // Not a device's.
    }
  }
  before();
  std::abort();
}

}  // namespace

FailedDeviceReport::FailedDeviceReport(std::function<void(const Error&)> tell) {
  told = std::move(tell);
  before = std::set_terminate(&end);
}

FailedDeviceReport::~FailedDeviceReport() {
  std::set_terminate(before);
  told = nullptr;
}

}  // namespace hftrain::runtime

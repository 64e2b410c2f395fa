#include "hftrain/runtime/random_state.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <mutex>

#include "hftrain/base/error.h"

namespace hftrain::runtime {
namespace {

void seed(at::Generator generator, uint64_t value) {
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(value);
}

std::string state_bytes(at::Generator generator) {
  const std::lock_guard lock(generator.mutex());
  const at::Tensor state = generator.get_state();
  return {static_cast<const char*>(state.const_data_ptr()), state.nbytes()};
}

void set_state_bytes(at::Generator generator, const std::string& bytes, const char* which) {
  at::Tensor state = at::empty({static_cast<int64_t>(bytes.size())}, at::kByte);
  std::memcpy(state.mutable_data_ptr(), bytes.data(), bytes.size());
  const std::lock_guard lock(generator.mutex());
  try {
    generator.set_state(state);
  } catch (const c10::Error& error) {
    throw Error(ExitCode::kData,
                std::string("the saved random state of the ") + which + " cannot be restored")
        .where("the checkpoint")
        .why(error.what_without_backtrace())
        .hint("go on from an earlier checkpoint, by --resume_from_checkpoint");
  }
}

}  // namespace

void seed_generators(uint64_t value, const DeviceRuntime& runtime, c10::Device device) {
  seed(at::detail::getDefaultCPUGenerator(), value);
  if (!device.is_cpu()) seed(runtime.generator(device), value);
}

RandomState capture_random_state(const DeviceRuntime& runtime, c10::Device device) {
  RandomState state;
  state.cpu = state_bytes(at::detail::getDefaultCPUGenerator());
  if (!device.is_cpu()) state.device = state_bytes(runtime.generator(device));
  return state;
}

bool has_streams_of(const RandomState& state, c10::Device device) {
  // A GPU's dropout draws from the device's generator: on a CPU the one of such a run is where it began.
  return !state.cpu.empty() && device.is_cpu() == state.device.empty();
}

void restore_random_state(const RandomState& state, const DeviceRuntime& runtime, c10::Device device) {
  set_state_bytes(at::detail::getDefaultCPUGenerator(), state.cpu, "CPU");
  if (device.is_cpu()) return;
  set_state_bytes(runtime.generator(device), state.device, "device");
}

}  // namespace hftrain::runtime

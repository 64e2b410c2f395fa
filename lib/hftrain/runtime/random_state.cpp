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

// Of a generator of CUDA: its seed and how many numbers it has given, each of eight bytes.
bool never_drawn_from(const std::string& device_state) {
  constexpr size_t kSeed = sizeof(uint64_t), kWhole = 2 * sizeof(uint64_t);
  uint64_t drawn = 1;
  if (device_state.size() == kWhole) std::memcpy(&drawn, device_state.data() + kSeed, sizeof drawn);
  return drawn == 0;
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
  if (state.cpu.empty()) return false;
  // A GPU's dropout draws from the device's generator: the CPU's of such a run is where it began. One that gave no
  // number is of a run on a CPU, which leaves it in folders for a Trainer, or of a run that draws none.
  return device.is_cpu() ? state.device.empty() || never_drawn_from(state.device) : !state.device.empty();
}

void restore_random_state(const RandomState& state, const DeviceRuntime& runtime, c10::Device device) {
  set_state_bytes(at::detail::getDefaultCPUGenerator(), state.cpu, "CPU");
  if (device.is_cpu()) return;
  set_state_bytes(runtime.generator(device), state.device, "device");
}

}  // namespace hftrain::runtime

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

void restore_random_state(const RandomState& state, const DeviceRuntime& runtime, c10::Device device) {
  set_state_bytes(at::detail::getDefaultCPUGenerator(), state.cpu, "CPU");
  if (device.is_cpu()) return;
  if (state.device.empty()) {
    throw Error(ExitCode::kData, "the checkpoint has no random state of a device")
        .where("the checkpoint")
        .why("it was written by a run on the CPU")
        .hint("go on with --use_cpu, or start from its model with --model_name_or_path");
  }
  set_state_bytes(runtime.generator(device), state.device, "device");
}

}  // namespace hftrain::runtime

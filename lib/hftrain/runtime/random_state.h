// Seeding, capturing and restoring the random streams of one rank.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "hftrain/runtime/device_runtime.h"

namespace hftrain::runtime {

// The states of the default generators, as the bytes that torch.get_rng_state gives. What a checkpoint keeps.
struct RandomState {
  std::string cpu;
  std::string device;  // empty when the rank computes on the CPU
};

// The same as torch.manual_seed(seed) for the CPU and the rank's device. To be called when no other thread
// draws.
void seed_generators(uint64_t seed, const DeviceRuntime& runtime, c10::Device device);

// Whether it has what a rank on `device` draws from: a run on the CPU leaves nothing for a GPU, and
// one whose GPU gave numbers nothing for the CPU.
bool has_streams_of(const RandomState& state, c10::Device device);

RandomState capture_random_state(const DeviceRuntime& runtime, c10::Device device);
// Of one that has the streams of `device`; kData if the bytes are not a state of this kind of generator.
void restore_random_state(const RandomState& state, const DeviceRuntime& runtime, c10::Device device);

}  // namespace hftrain::runtime

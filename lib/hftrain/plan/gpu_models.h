// GPUs that `--machines` knows by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hftrain/base/json.h"

namespace hftrain::plan {

struct GpuModel {
  const char* name;
  int memory_mib;  // all of it, as nvidia-smi shows it with error correction switched on
  int compute_major, compute_minor;
  int cores;  // CPUs for each GPU of a machine that has this one

  int64_t memory_bytes() const { return int64_t{memory_mib} << 20; }
};

// By generation: Blackwell, Hopper, Ada, Ampere, Turing, Volta. docs/plan.md has the sources of the numbers.
std::span<const GpuModel> gpu_models();

// By name, upper and lower case and "-", "_" and " " alike; null for none.
const GpuModel* find_gpu_model(std::string_view name);

// The table in words, and examples of what can be said with it: `--machines list`.
std::string describe_gpu_models();
// {schema, gpus: [{name, total_bytes, compute_capability, cores}]}
Json gpu_models_document();

}  // namespace hftrain::plan

// What libraries read of the environment to compute the same bits each time (enable_full_determinism of transformers).
#pragma once

#include <array>

namespace hftrain {

struct DeterministicVariable {
  const char *name, *value;
};

// Set for a rank of --full_determinism where they are not given.
inline constexpr std::array<DeterministicVariable, 3> kDeterministicVariables = {
    {{"CUDA_LAUNCH_BLOCKING", "1"},
     {"CUBLAS_WORKSPACE_CONFIG", ":16:8"},
     {"FLASH_ATTENTION_DETERMINISTIC", "1"}}};

}  // namespace hftrain

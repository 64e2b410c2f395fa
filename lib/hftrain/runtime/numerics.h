// The process-wide switches of LibTorch that change results or speed, set on purpose and in one place.
#pragma once

#include <optional>

namespace hftrain::runtime {

struct Numerics {
  bool full_determinism = false;  // enable_full_determinism of transformers
  std::optional<bool> tf32;       // unset: LibTorch's defaults
  // Attention may take cuDNN's kernels, which build a plan for every shape that comes up: for rows of one length.
  bool cudnn_attention = false;
  // A GPU's operations go through several of NCCL's groups, of which more than one are under way at a time.
  bool several_groups = false;
};

// Environment variables that CUDA libraries read when they are loaded. Call before load_cuda_plugin and
// before there are other threads. Variables that the user has set are left alone.
void set_library_environment(const Numerics& numerics);

// With full_determinism, deterministic algorithms (an error where an operator has none; new tensors are not filled) and no cuDNN benchmark; TF32 in matmul and
// cuDNN where it is given; cuDNN's attention as it is said. Nothing is taken back.
void apply_numerics(const Numerics& numerics);

}  // namespace hftrain::runtime

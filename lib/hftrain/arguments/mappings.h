// Flags whose value is a mapping (JSON text, a JSON file, or a YAML mapping), as typed structs. Unknown keys
// never get here: the reader refuses them with the nearest key.
#pragma once

#include <cstdint>
#include <optional>

#include "hftrain/base/json.h"

namespace hftrain::arguments {

// --accelerator_config
struct AcceleratorOptions {
  bool split_batches = false;  // the given batch size is the global one, split over the ranks
  std::optional<bool> dispatch_batches;
  bool even_batches = true;  // complete the last round with samples from the start
  bool use_seedable_sampler = true;
  bool non_blocking = false;
  // gradient_accumulation_kwargs.num_steps is folded into gradient_accumulation_steps by parse_arguments.
  bool sync_each_batch = false;  // reduce gradients at every micro batch
};

// --gradient_checkpointing_kwargs
struct GradientCheckpointingOptions {
  int64_t every_n_layers = 1;
  bool offload = false;  // keep saved activations in pinned host memory
};

// --liger_kernel_config: which fused operators to use; unset: all that the family has.
struct LigerKernelOptions {
  std::optional<bool> rope, swiglu, geglu, rms_norm, layer_norm, cross_entropy, fused_linear_cross_entropy;
};

}  // namespace hftrain::arguments

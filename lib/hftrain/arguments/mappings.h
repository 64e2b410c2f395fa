// Flags whose value is a mapping (JSON text, a JSON file, or a YAML mapping), as typed structs. Unknown keys
// never get here: the reader refuses them with the nearest key. Keys that are accepted without effect have
// no member (mapping_keys.cpp lists them all).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hftrain/base/json.h"

namespace hftrain::arguments {

// --accelerator_config
struct AcceleratorOptions {
  bool split_batches = false;            // the given batch size is the global one, split over the ranks
  std::optional<bool> dispatch_batches;  // rank 0 reads the training data and sends; unset: a stream
  bool even_batches = true;              // complete the last round with samples from the start
  bool use_seedable_sampler = true;      // the order of the data depends on seed and epoch alone
  bool non_blocking = false;             // only checked: copies from pinned memory are always asynchronous
  // gradient_accumulation_kwargs.num_steps; unset when parse_arguments has moved it to
  // gradient_accumulation_steps.
  std::optional<int64_t> accumulation_num_steps;
  bool sync_each_batch = false;  // of gradient_accumulation_kwargs: reduce gradients in every micro-batch
};
void to_json(Json& json, const AcceleratorOptions& options);
void from_json(const Json& json, AcceleratorOptions& options);

// --gradient_checkpointing_kwargs
struct GradientCheckpointingOptions {
  int64_t every_n_layers = 1;
  bool offload = false;  // what recomputed blocks keep lies in pinned host memory
};
void to_json(Json& json, const GradientCheckpointingOptions& options);
void from_json(const Json& json, GradientCheckpointingOptions& options);

// --liger_kernel_config: which fused operators to use; unset: all that the family has.
struct LigerKernelOptions {
  std::optional<bool> rope, swiglu, geglu, rms_norm, layer_norm, cross_entropy, fused_linear_cross_entropy;
};
void to_json(Json& json, const LigerKernelOptions& options);
void from_json(const Json& json, LigerKernelOptions& options);

// --model_init_kwargs: where the flags of the same names are not given, these count.
struct ModelInitOptions {
  std::optional<std::string> dtype, revision;
};
void to_json(Json& json, const ModelInitOptions& options);
void from_json(const Json& json, ModelInitOptions& options);

}  // namespace hftrain::arguments

// What the formats for sharding and offload ask for, in one vocabulary: --fsdp with fsdp_config,
// --sharded_ddp, DeepSpeed JSON, the sections of an Accelerate file, and the flags of `accelerate launch`.
// Each reader (import/) assigns the fields it understands; two that disagree are a mistake that names both
// places. plan::resolve turns them into a StrategyPlan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/error.h"

namespace hftrain::arguments {

// A value and where it was written: "--fsdp", "ds.json:3:14", "fsdp_config of acc.yaml:9:3".
template <typename T>
struct Sourced {
  std::optional<T> value;
  std::string origin;

  explicit operator bool() const { return value.has_value(); }
  const T& operator*() const { return *value; }
  T value_or(T otherwise) const { return value.value_or(std::move(otherwise)); }
};

struct ParallelOptions {
  // none (DeepSpeed stage 0) | no_shard | zero1 | shard_grad_op | full_shard | hybrid_shard |
  // hybrid_shard_zero2
  Sourced<std::string> strategy;
  Sourced<int64_t> shard_ranks;      // ranks of one shard group, of the hybrid strategies; unset: a node
  Sourced<int64_t> replicate_ranks;  // number of shard groups

  // Units
  Sourced<std::string> wrap_policy;                 // transformer | size | none
  Sourced<std::vector<std::string>> layer_classes;  // of the transformer policy
  Sourced<int64_t> min_parameters;                  // of the size policy
  Sourced<int64_t> full_parameter_limit;            // smaller parameters stay whole
  Sourced<std::string> backward_prefetch;           // pre | post | none
  Sourced<bool> forward_prefetch, limit_all_gathers;

  // Offload
  Sourced<std::string> offload_parameters, offload_optimizer;  // none | cpu | nvme
  Sourced<std::string> parameters_path, optimizer_path;        // folders of nvme
  Sourced<int64_t> block_bytes, queue_depth;                   // of one request; requests in flight
  Sourced<int64_t> buffer_numbers, buffer_count;               // staging buffers, in numbers
  Sourced<bool> pipeline_read, pipeline_write;

  // Numbers and files
  Sourced<std::string> reduce_dtype;  // float32 | bfloat16 | float16
  Sourced<std::string> state_dict;    // full | sharded | local
  bool state_dict_filled_in = false;  // as accelerate does it where nobody says which
  Sourced<bool> activation_checkpointing, activation_checkpointing_offload;
  Sourced<std::string> ignored_modules;  // a regular expression of whole names: their parameters stay whole
};

// Sets `field` unless another place has given another value, which is reported: `what` names the setting in
// the user's words, the message shows both values and origins.
template <typename T>
void assign(Sourced<T>& field, T value, const std::string& origin, const std::string& what,
            std::vector<Diagnostic>& problems);

extern template void assign(Sourced<std::string>&, std::string, const std::string&, const std::string&,
                            std::vector<Diagnostic>&);
extern template void assign(Sourced<int64_t>&, int64_t, const std::string&, const std::string&,
                            std::vector<Diagnostic>&);
extern template void assign(Sourced<bool>&, bool, const std::string&, const std::string&,
                            std::vector<Diagnostic>&);
extern template void assign(Sourced<std::vector<std::string>>&, std::vector<std::string>, const std::string&,
                            const std::string&, std::vector<Diagnostic>&);

}  // namespace hftrain::arguments

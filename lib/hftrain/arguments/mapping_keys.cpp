#include "hftrain/arguments/mapping_keys.h"

#include <array>

namespace hftrain::arguments {
namespace {

const Key kAccumulation[] = {
    {.name = "num_steps", .type = Type::kInt, .optional = true, .range = at_least(1)},
    {.name = "adjust_scheduler",
     .type = Type::kBool,
     .neutral = "true",
     .support = accepted("the schedule always steps once per update")},
    {.name = "sync_with_dataloader",
     .type = Type::kBool,
     .neutral = "true",
     .support = accepted("an epoch always ends with an update of its own")},
    {.name = "sync_each_batch", .type = Type::kBool},
};

const Key kAccelerator[] = {
    {.name = "split_batches", .type = Type::kBool},
    {.name = "dispatch_batches", .type = Type::kBool, .optional = true},
    {.name = "even_batches", .type = Type::kBool},
    {.name = "use_seedable_sampler", .type = Type::kBool},
    {.name = "non_blocking",
     .type = Type::kBool,
     .neutral = "false",
     .support = accepted("copies from pinned memory are always asynchronous")},
    {.name = "gradient_accumulation_kwargs", .type = Type::kMapping, .optional = true, .keys = kAccumulation},
    {.name = "use_configured_state",
     .type = Type::kBool,
     .neutral = "false",
     .support = refused("there is no Python process with a configured state")},
};

const Key kCheckpointing[] = {
    {.name = "every_n_layers", .type = Type::kInt, .range = at_least(1)},
    {.name = "offload", .type = Type::kBool},
    {.name = "use_reentrant",
     .type = Type::kBool,
     .neutral = "false",
     .support = accepted("there is one form of recomputation")},
    {.name = "preserve_rng_state",
     .type = Type::kBool,
     .neutral = "true",
     .support = accepted("random state is always preserved")},
    {.name = "determinism_check",
     .type = Type::kText,
     .neutral = "default",
     .support = accepted("recomputation repeats the forward pass exactly")},
};

const Key kLiger[] = {
    {.name = "rope", .type = Type::kBool, .optional = true},
    {.name = "swiglu", .type = Type::kBool, .optional = true},
    {.name = "geglu", .type = Type::kBool, .optional = true},
    {.name = "rms_norm", .type = Type::kBool, .optional = true},
    {.name = "layer_norm", .type = Type::kBool, .optional = true},
    {.name = "cross_entropy", .type = Type::kBool, .optional = true},
    {.name = "fused_linear_cross_entropy", .type = Type::kBool, .optional = true},
};

const Key kModelInit[] = {
    {.name = "dtype",
     .type = Type::kText,
     .optional = true,
     .words = {"auto", "bfloat16", "float16", "float32"}},
    {.name = "torch_dtype",
     .type = Type::kText,
     .optional = true,
     .words = {"auto", "bfloat16", "float16", "float32"}},
    {.name = "revision", .type = Type::kText, .optional = true},
    {.name = "attn_implementation",
     .type = Type::kText,
     .optional = true,
     .support = accepted("the kernel is chosen by device")},
    {.name = "low_cpu_mem_usage",
     .type = Type::kBool,
     .neutral = "false",
     .support = accepted("weights are always loaded by mapping, one tensor at a time")},
    {.name = "use_cache",
     .type = Type::kBool,
     .neutral = "false",
     .support = accepted("nothing is cached in training; --use_cache is what config.json says")},
    {.name = "device_map",
     .type = Type::kText,
     .optional = true,
     .support = accepted("every rank has its device, whatever a map says")},
    {.name = "trust_remote_code",
     .type = Type::kBool,
     .neutral = "false",
     .support = refused("there is no Python", "a model family of hftrain")},
};

template <typename T>
void read(const Json& mapping, const char* key, T& member) {
  if (mapping.contains(key)) mapping.at(key).get_to(member);
}

}  // namespace

std::span<const Key> accelerator_keys() {
  return kAccelerator;
}
std::span<const Key> gradient_checkpointing_keys() {
  return kCheckpointing;
}
std::span<const Key> liger_kernel_keys() {
  return kLiger;
}
std::span<const Key> model_init_keys() {
  return kModelInit;
}

void to_json(Json& json, const ModelInitOptions& options) {
  json = Json::object();
  if (options.dtype) json["dtype"] = *options.dtype;
  if (options.revision) json["revision"] = *options.revision;
}

void from_json(const Json& json, ModelInitOptions& options) {
  read(json, "torch_dtype", options.dtype);
  read(json, "dtype", options.dtype);
  read(json, "revision", options.revision);
}

void to_json(Json& json, const AcceleratorOptions& options) {
  json = {{"split_batches", options.split_batches},
          {"even_batches", options.even_batches},
          {"use_seedable_sampler", options.use_seedable_sampler},
          {"non_blocking", options.non_blocking}};
  if (options.dispatch_batches) json["dispatch_batches"] = *options.dispatch_batches;
  Json accumulation = Json::object();
  if (options.accumulation_num_steps) accumulation["num_steps"] = *options.accumulation_num_steps;
  if (options.sync_each_batch) accumulation["sync_each_batch"] = true;
  if (!accumulation.empty()) json["gradient_accumulation_kwargs"] = std::move(accumulation);
}

void from_json(const Json& json, AcceleratorOptions& options) {
  read(json, "split_batches", options.split_batches);
  read(json, "even_batches", options.even_batches);
  read(json, "use_seedable_sampler", options.use_seedable_sampler);
  read(json, "non_blocking", options.non_blocking);
  if (json.contains("dispatch_batches") && json["dispatch_batches"].is_boolean())
    options.dispatch_batches = json["dispatch_batches"].get<bool>();
  if (json.contains("gradient_accumulation_kwargs") && json["gradient_accumulation_kwargs"].is_object()) {
    const Json& accumulation = json["gradient_accumulation_kwargs"];
    read(accumulation, "num_steps", options.accumulation_num_steps);
    read(accumulation, "sync_each_batch", options.sync_each_batch);
  }
}

void to_json(Json& json, const GradientCheckpointingOptions& options) {
  json = {{"every_n_layers", options.every_n_layers}, {"offload", options.offload}};
}

void from_json(const Json& json, GradientCheckpointingOptions& options) {
  read(json, "every_n_layers", options.every_n_layers);
  read(json, "offload", options.offload);
}

void to_json(Json& json, const LigerKernelOptions& options) {
  json = Json::object();
  const auto write = [&](const char* key, const std::optional<bool>& value) {
    if (value) json[key] = *value;
  };
  write("rope", options.rope);
  write("swiglu", options.swiglu);
  write("geglu", options.geglu);
  write("rms_norm", options.rms_norm);
  write("layer_norm", options.layer_norm);
  write("cross_entropy", options.cross_entropy);
  write("fused_linear_cross_entropy", options.fused_linear_cross_entropy);
}

void from_json(const Json& json, LigerKernelOptions& options) {
  read(json, "rope", options.rope);
  read(json, "swiglu", options.swiglu);
  read(json, "geglu", options.geglu);
  read(json, "rms_norm", options.rms_norm);
  read(json, "layer_norm", options.layer_norm);
  read(json, "cross_entropy", options.cross_entropy);
  read(json, "fused_linear_cross_entropy", options.fused_linear_cross_entropy);
}

}  // namespace hftrain::arguments

// Sections that do nothing here and are taken where their switch is off: the keys that deepspeed 0.19.8 knows in them. What
// it calls unknown is refused, on or off, as in its own strict models.
#include "hftrain/arguments/import/deepspeed_key_tables.h"

namespace hftrain::arguments {
namespace {

// A value of any kind, which the section's switch decides about.
SectionKey any(std::string_view name, std::vector<std::string_view> aliases = {}) {
  return {.name = name, .type = Type::kMapping, .aliases = std::move(aliases)};
}

// A switch of other releases beside the one of this.
SectionKey no_longer_enabled() {
  return {.name = "enabled", .type = Type::kBool, .support = deepspeed_tables::kNotHere, .neutral = "false"};
}

const SectionKey kPipeline[] = {any("stages"),           any("partition"),
                                any("seed_layers"),      any("activation_checkpoint_interval"),
                                any("pipe_partitioned"), any("grad_partitioned"),
                                any("use_reentrant"),    no_longer_enabled()};

const SectionKey kDataEfficiency[] = {any("enabled"), any("seed"), any("data_sampling"), any("data_routing")};

const SectionKey kAutotuning[] = {
    any("enabled"),
    any("fast"),
    any("results_dir"),
    any("exps_dir"),
    any("overwrite"),
    any("start_profile_step", {"start_step"}),
    any("end_profile_step", {"end_step"}),
    any("metric"),
    any("metric_path"),
    any("tuner_type"),
    any("tuner_early_stopping"),
    any("tuner_num_trials"),
    any("arg_mappings"),
    any("model_info"),
    any("model_info_path"),
    any("mp_size"),
    any("max_train_batch_size"),
    any("min_train_batch_size"),
    any("max_train_micro_batch_size_per_gpu"),
    any("min_train_micro_batch_size_per_gpu"),
    any("num_tuning_micro_batch_sizes"),
};

const SectionKey kHybridEngine[] = {any("enabled"),           any("max_out_tokens"),
                                    any("inference_tp_size"), any("release_inference_cache"),
                                    any("pin_parameters"),    any("tp_gather_partition_size"),
                                    any("enable_cuda_graph")};

const SectionKey kCompile[] = {any("deepcompile"),
                               any("autoep_non_moe"),
                               any("free_activation"),
                               any("free_activation_threshold"),
                               any("offload_activation"),
                               any("offload_activation_pin_memory"),
                               any("offload_opt_states"),
                               any("double_buffer"),
                               any("symmetric_memory"),
                               any("debug_log"),
                               any("offload_parameters"),
                               any("sync_before_reduce"),
                               any("sync_after_reduce"),
                               any("sync_before_allgather"),
                               any("sync_after_allgather"),
                               any("keep_int_input_tensors"),
                               any("keep_all_input_tensors"),
                               any("passes"),
                               no_longer_enabled()};

const SectionKey kTensorParallelGroup[] = {{.name = "tp_size",
                                            .type = Type::kInt,
                                            .support = deepspeed_tables::kNotHere,
                                            .neutral = "1",
                                            .range = at_least(1)},
                                           any("tp_grain_size"),
                                           any("mpu"),
                                           any("tp_group")};
const SectionKey kTensorParallel[] = {
    any("autotp_size"),
    any("dtype"),
    any("tp_overlap_comm"),
    any("vocab_parallel_lm_head"),
    any("vocab_parallel_ce_backend"),
    {.name = "tp", .type = Type::kMapping, .keys = kTensorParallelGroup, .aliases = {"tensor_parallel"}},
    any("injection_policy_tuple"),
    any("partition_config"),
    any("preset_model"),
    any("keep_module_on_host"),
    any("kernel_inject", {"replace_with_kernel_inject"}),
    no_longer_enabled()};

const SectionKey kTorchAutocast[] = {any("enabled"), any("dtype"), any("lower_precision_safe_modules")};

}  // namespace

namespace deepspeed_tables {

std::span<const SectionKey> pipeline() {
  return kPipeline;
}

std::span<const SectionKey> data_efficiency() {
  return kDataEfficiency;
}

std::span<const SectionKey> autotuning() {
  return kAutotuning;
}

std::span<const SectionKey> hybrid_engine() {
  return kHybridEngine;
}

std::span<const SectionKey> compile() {
  return kCompile;
}

std::span<const SectionKey> tensor_parallel() {
  return kTensorParallel;
}

std::span<const SectionKey> torch_autocast() {
  return kTorchAutocast;
}

}  // namespace deepspeed_tables
}  // namespace hftrain::arguments

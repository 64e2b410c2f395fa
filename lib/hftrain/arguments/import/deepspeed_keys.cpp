#include "hftrain/arguments/import/deepspeed_keys.h"

#include <algorithm>

namespace hftrain::arguments {
namespace {

constexpr Support kByUnits = accepted("parameters are gathered and gradients reduced unit by unit");
constexpr Support kAsTheMachineCan = accepted("host memory is pinned where there is a GPU");
constexpr Support kOwnFiles = accepted("any checkpoint loads at any world size and with any strategy");
constexpr Support kRemoved = refused("this build has none of it, nor has deepspeed 0.19");
constexpr Support kNotHere = refused("this build has none of it");
constexpr Support kQuantised =
    refused("gradients and parameters travel unquantised", "communication_data_type");
constexpr Support kFullPrecision = refused("weights and optimizer state have one type", "--dtype bfloat16");

const SectionKey kOffloadParameters[] = {
    {.name = "device", .words = {"none", "cpu", "nvme"}, .automatic = true},
    {.name = "nvme_path", .automatic = true},
    {.name = "buffer_count", .type = Type::kInt, .range = at_least(1)},
    {.name = "buffer_size", .type = Type::kInt, .range = at_least(1)},
    {.name = "max_in_cpu",
     .type = Type::kInt,
     .support = accepted("buffer_count and buffer_size bound what is in memory"),
     .neutral = "1000000000"},
    {.name = "pin_memory", .type = Type::kBool, .support = kAsTheMachineCan, .neutral = "true"},
};

const SectionKey kOffloadOptimizer[] = {
    {.name = "device", .words = {"none", "cpu", "nvme"}, .automatic = true},
    {.name = "nvme_path", .automatic = true},
    {.name = "buffer_count", .type = Type::kInt, .range = at_least(1)},
    {.name = "pin_memory", .type = Type::kBool, .support = kAsTheMachineCan, .neutral = "true"},
    {.name = "pipeline_read", .type = Type::kBool},
    {.name = "pipeline_write", .type = Type::kBool},
    {.name = "pipeline",
     .type = Type::kBool,
     .support = accepted("pipeline_read and pipeline_write decide"),
     .neutral = "false"},
    {.name = "fast_init",
     .type = Type::kBool,
     .support = accepted("state starts as holes in its files"),
     .neutral = "false"},
    {.name = "ratio", .type = Type::kFloat, .range = between(0, 1)},
    {.name = "super_offload", .type = Type::kBool, .support = kNotHere, .neutral = "false"},
    {.name = "cpuadam_cores_perc",
     .type = Type::kFloat,
     .support = accepted("OMP_NUM_THREADS sets the threads"),
     .neutral = "0.8"},
};

const SectionKey kZero[] = {
    {.name = "stage", .type = Type::kInt, .range = between(0, 3), .automatic = true},
    {.name = "contiguous_gradients", .type = Type::kBool, .support = kByUnits, .neutral = "true"},
    {.name = "reduce_scatter",
     .type = Type::kBool,
     .support = accepted("gradients are always reduce-scattered"),
     .neutral = "true"},
    {.name = "reduce_bucket_size",
     .type = Type::kInt,
     .support = kByUnits,
     .neutral = "500000000",
     .range = above(0),
     .automatic = true},
    {.name = "use_multi_rank_bucket_allreduce", .type = Type::kBool, .support = kByUnits, .neutral = "true"},
    {.name = "allgather_partitions", .type = Type::kBool, .support = kByUnits, .neutral = "true"},
    {.name = "allgather_bucket_size",
     .type = Type::kInt,
     .support = kByUnits,
     .neutral = "500000000",
     .range = above(0),
     .automatic = true},
    {.name = "overlap_comm",
     .type = Type::kBool,
     .support = accepted("communication overlaps wherever the device has streams"),
     .neutral = "true",
     .automatic = true},
    {.name = "compute_grad_norm", .type = Type::kBool},
    {.name = "load_from_fp32_weights", .type = Type::kBool, .support = kOwnFiles, .neutral = "true"},
    {.name = "elastic_checkpoint", .type = Type::kBool, .support = kOwnFiles, .neutral = "false"},
    {.name = "offload_param", .type = Type::kMapping, .keys = kOffloadParameters, .drops_auto = true},
    {.name = "offload_optimizer", .type = Type::kMapping, .keys = kOffloadOptimizer, .drops_auto = true},
    {.name = "sub_group_size",
     .type = Type::kInt,
     .support = accepted("the optimizer steps shard by shard"),
     .neutral = "1000000000",
     .range = above(0),
     .automatic = true},
    {.name = "cpu_offload", .type = Type::kBool},
    {.name = "cpu_offload_param", .type = Type::kBool, .aliases = {"cpu_offload_params"}},
    {.name = "cpu_offload_use_pin_memory",
     .type = Type::kBool,
     .support = kAsTheMachineCan,
     .neutral = "true"},
    {.name = "stage3_prefetch_bucket_size",
     .type = Type::kInt,
     .support = kByUnits,
     .neutral = "50000000",
     .range = at_least(0),
     .automatic = true,
     .aliases = {"prefetch_bucket_size"}},
    {.name = "stage3_param_persistence_threshold",
     .type = Type::kInt,
     .range = at_least(0),
     .automatic = true,
     .aliases = {"param_persistence_threshold"}},
    {.name = "stage3_model_persistence_threshold",
     .type = Type::kInt,
     .support = accepted("stage3_param_persistence_threshold alone decides"),
     .neutral = "9223372036854775807",
     .automatic = true,
     .aliases = {"model_persistence_threshold"}},
    {.name = "stage3_max_live_parameters",
     .type = Type::kInt,
     .support = kByUnits,
     .neutral = "1000000000",
     .automatic = true,
     .aliases = {"max_live_parameters"}},
    {.name = "stage3_max_reuse_distance",
     .type = Type::kInt,
     .support = kByUnits,
     .neutral = "1000000000",
     .automatic = true,
     .aliases = {"max_reuse_distance"}},
    {.name = "stage3_gather_16bit_weights_on_model_save",
     .type = Type::kBool,
     .automatic = true,
     .aliases = {"stage3_gather_fp16_weights_on_model_save", "gather_16bit_weights_on_model_save"}},
    {.name = "stage3_module_granularity_threshold",
     .type = Type::kInt,
     .support = kByUnits,
     .neutral = "0",
     .aliases = {"module_granularity_threshold"}},
    {.name = "stage3_use_all_reduce_for_fetch_params",
     .type = Type::kBool,
     .support = kByUnits,
     .neutral = "false",
     .aliases = {"use_all_reduce_for_fetch_params"}},
    {.name = "stage3_allgather_sequential",
     .type = Type::kBool,
     .support = kByUnits,
     .neutral = "false",
     .aliases = {"allgather_sequential"}},
    {.name = "ignore_unused_parameters",
     .type = Type::kBool,
     .support = accepted("a parameter without gradient is left as it is"),
     .neutral = "true"},
    {.name = "legacy_stage1",
     .type = Type::kBool,
     .support = accepted("there is one stage 1"),
     .neutral = "false"},
    {.name = "round_robin_gradients", .type = Type::kBool, .support = kByUnits, .neutral = "false"},
    {.name = "parameter_alignment", .support = kByUnits, .neutral = "0"},
    {.name = "pipeline_loading_checkpoint", .type = Type::kBool, .support = kOwnFiles, .neutral = "false"},
    {.name = "log_trace_cache_warnings",
     .type = Type::kBool,
     .support = accepted("the order of units is fixed: there is no trace"),
     .neutral = "false"},
    {.name = "enable_sanity_checks",
     .type = Type::kBool,
     .support = accepted("checks are always on"),
     .neutral = "false"},
    {.name = "zero_hpz_partition_size",
     .type = Type::kInt,
     .support = refused("there is no second partition", "mics_shard_size, or --fsdp hybrid_shard"),
     .neutral = "1"},
    {.name = "zero_quantized_weights", .type = Type::kBool, .support = kQuantised, .neutral = "false"},
    {.name = "zero_quantized_nontrainable_weights",
     .type = Type::kBool,
     .support = kQuantised,
     .neutral = "false"},
    {.name = "zero_quantized_gradients", .type = Type::kBool, .support = kQuantised, .neutral = "false"},
    {.name = "memory_efficient_linear", .type = Type::kBool, .support = kByUnits, .neutral = "true"},
    {.name = "override_module_apply", .type = Type::kBool, .support = kByUnits, .neutral = "true"},
    {.name = "zenflow", .type = Type::kMapping, .support = kNotHere},
    {.name = "leaf_module",
     .type = Type::kMapping,
     .support = refused("units are the layers of the model", "--fsdp with a wrap policy")},
    {.name = "save_muon_momentum_buffer_in_memory",
     .type = Type::kBool,
     .support = refused("there is no Muon here", "AdamW"),
     .neutral = "false"},
    {.name = "mics_shard_size", .type = Type::kInt},
    {.name = "mics_hierarchical_params_gather",
     .type = Type::kBool,
     .support = refused("deepspeed 0.19 removed it"),
     .neutral = "false",
     .told_off = true},
    {.name = "zeropp_loco_param", .type = Type::kMapping, .support = kRemoved, .told_off = true},
};

const SectionKey kFp16[] = {
    {.name = "enabled", .type = Type::kBool, .automatic = true},
    {.name = "auto_cast",
     .type = Type::kBool,
     .support = accepted("units compute in float16 themselves"),
     .neutral = "false",
     .automatic = true},
    {.name = "loss_scale", .type = Type::kFloat, .range = at_least(0), .automatic = true},
    {.name = "initial_scale_power", .type = Type::kInt, .range = between(0, 120), .automatic = true},
    {.name = "loss_scale_window", .type = Type::kInt, .range = at_least(1), .automatic = true},
    {.name = "hysteresis", .type = Type::kInt, .range = at_least(1), .automatic = true},
    {.name = "consecutive_hysteresis", .type = Type::kBool, .automatic = true},
    {.name = "min_loss_scale", .type = Type::kFloat, .range = at_least(0), .automatic = true},
    {.name = "opt_level", .support = accepted("there is no Apex here"), .neutral = "O1", .automatic = true},
    {.name = "fp16_master_weights_and_grads",
     .type = Type::kBool,
     .support = refused("loss scaling needs float32 weights"),
     .neutral = "false",
     .aliases = {"fp16_master_weights_and_gradients"}},
};

const SectionKey kBf16[] = {
    {.name = "enabled", .type = Type::kBool, .automatic = true},
    {.name = "immediate_grad_update",
     .type = Type::kBool,
     .support = accepted("gradients always join the weights' type at once"),
     .neutral = "false"},
    {.name = "check_grad_overflow",
     .type = Type::kBool,
     .support = accepted("an update whose gradients are not finite is always skipped"),
     .neutral = "true"},
    {.name = "bf16_master_weights_and_grads",
     .type = Type::kBool,
     .support = kFullPrecision,
     .neutral = "false"},
    {.name = "bf16_optimizer_states", .type = Type::kBool, .support = kFullPrecision, .neutral = "false"},
};

const SectionKey kOptimizerSection[] = {
    {.name = "type"},
    {.name = "params", .type = Type::kMapping},
    {.name = "legacy_fusion",
     .type = Type::kBool,
     .support = accepted("there is one form of each optimizer"),
     .neutral = "false"},
};
const SectionKey kSchedulerSection[] = {{.name = "type"}, {.name = "params", .type = Type::kMapping}};

const SectionKey kAio[] = {
    {.name = "block_size", .type = Type::kInt, .range = at_least(512)},
    {.name = "queue_depth", .type = Type::kInt, .range = at_least(1)},
    {.name = "intra_op_parallelism",
     .type = Type::kInt,
     .support = accepted("queue_depth alone decides how many requests are in flight"),
     .neutral = "1",
     .aliases = {"thread_count"}},
    {.name = "io_backend",
     .support = accepted("io_uring where the kernel has it, else threads"),
     .neutral = "async_io"},
    {.name = "single_submit",
     .type = Type::kBool,
     .support = accepted("requests are submitted together"),
     .neutral = "false"},
    {.name = "overlap_events",
     .type = Type::kBool,
     .support = accepted("submitting and completing always overlap"),
     .neutral = "true"},
    {.name = "use_gds",
     .type = Type::kBool,
     .support = refused("there is no GPUDirect Storage here; data goes through host memory"),
     .neutral = "false"},
};

const SectionKey kCheckpoint[] = {
    {.name = "tag_validation", .support = accepted("ranks always agree on a checkpoint"), .neutral = "WARN"},
    {.name = "load_universal", .type = Type::kBool, .support = kOwnFiles, .neutral = "false"},
    {.name = "use_node_local_storage", .type = Type::kBool},
    {.name = "parallel_write",
     .type = Type::kMapping,
     .support = accepted("every rank writes its own shard")},
};

constexpr Support kNoDeepSpeedCheckpointing =
    accepted("only models that call DeepSpeed's checkpoint function read it; use --gradient_checkpointing");
const SectionKey kActivationCheckpointing[] = {
    {.name = "partition_activations",
     .type = Type::kBool,
     .support = kNoDeepSpeedCheckpointing,
     .neutral = "false"},
    {.name = "number_checkpoints", .type = Type::kInt, .support = kNoDeepSpeedCheckpointing, .neutral = "0"},
    {.name = "contiguous_memory_optimization",
     .type = Type::kBool,
     .support = kNoDeepSpeedCheckpointing,
     .neutral = "false"},
    {.name = "synchronize_checkpoint_boundary",
     .type = Type::kBool,
     .support = kNoDeepSpeedCheckpointing,
     .neutral = "false"},
    {.name = "profile", .type = Type::kBool, .support = kNoDeepSpeedCheckpointing, .neutral = "false"},
    {.name = "cpu_checkpointing",
     .type = Type::kBool,
     .support = kNoDeepSpeedCheckpointing,
     .neutral = "false"},
};

const SectionKey kFlopsProfiler[] = {
    {.name = "enabled",
     .type = Type::kBool,
     .support = refused("there is no profile by module; total_flos is in trainer_state.json"),
     .neutral = "false"},
    {.name = "profile_step", .type = Type::kInt},
    {.name = "module_depth", .type = Type::kInt},
    {.name = "top_modules", .type = Type::kInt},
    {.name = "detailed", .type = Type::kBool},
    {.name = "recompute_fwd_factor", .type = Type::kFloat},
    {.name = "output_file"},
};

const SectionKey kTensorboard[] = {
    {.name = "enabled", .type = Type::kBool}, {.name = "output_path"}, {.name = "job_name"}};
const SectionKey kCsvMonitor[] = {
    {.name = "enabled", .type = Type::kBool},
    {.name = "output_path", .support = accepted("the table is hftrain/log.csv in the output folder")},
    {.name = "job_name",
     .support = accepted("the table is hftrain/log.csv in the output folder"),
     .neutral = "DeepSpeedJobName"}};
const SectionKey kWandb[] = {
    {.name = "enabled", .type = Type::kBool},
    {.name = "group", .support = accepted("the variable WANDB_RUN_GROUP says it")},
    {.name = "team", .support = accepted("the variable WANDB_ENTITY says it")},
    {.name = "project", .support = accepted("the variable WANDB_PROJECT says it"), .neutral = "deepspeed"}};
const SectionKey kComet[] = {
    {.name = "enabled",
     .type = Type::kBool,
     .support = refused("Comet is not one of our trackers", "tensorboard or csv_monitor"),
     .neutral = "false"},
    {.name = "samples_log_interval", .type = Type::kInt},
    {.name = "project"},
    {.name = "workspace"},
    {.name = "api_key"},
    {.name = "experiment_name"},
    {.name = "experiment_key"},
    {.name = "online", .type = Type::kBool},
    {.name = "mode"},
};

constexpr Support kStoredType = refused("weights and gradients have the type of --dtype", "--dtype");
const SectionKey kDataTypes[] = {
    {.name = "grad_accum_dtype", .support = kStoredType, .neutral = "fp32"},
    {.name = "param_dtype", .support = kStoredType, .neutral = "fp32"},
    {.name = "buffer_dtype", .support = kStoredType, .neutral = "fp32"},
    {.name = "keep_in_fp32_modules",
     .support = refused("norms and losses are always computed in float32"),
     .neutral = "auto"},
};

const SectionKey kTop[] = {
    {.name = "train_batch_size", .type = Type::kInt, .range = at_least(1), .automatic = true},
    {.name = "train_micro_batch_size_per_gpu", .type = Type::kInt, .range = at_least(1), .automatic = true},
    {.name = "gradient_accumulation_steps", .type = Type::kInt, .range = at_least(1), .automatic = true},
    {.name = "managed_gradient_accumulation",
     .type = Type::kBool,
     .support = refused("the trainer counts the micro batches"),
     .neutral = "true"},
    {.name = "steps_per_print",
     .support = accepted("--logging_steps decides when values are printed"),
     .neutral = "inf",
     .automatic = true},
    {.name = "gradient_clipping", .type = Type::kFloat, .range = at_least(0), .automatic = true},
    {.name = "prescale_gradients",
     .type = Type::kBool,
     .support = refused("gradients are divided after the reduction", "communication_data_type fp32"),
     .neutral = "false"},
    {.name = "gradient_predivide_factor",
     .type = Type::kFloat,
     .support = refused("gradients are divided after the reduction", "communication_data_type fp32"),
     .neutral = "1.0"},
    {.name = "gradient_allreduce_op", .words = {"mean", "sum"}},
    {.name = "communication_data_type",
     .words = {"fp32", "fp16", "bf16", "float32", "float16", "bfloat16", "none"}},
    {.name = "seq_parallel_communication_data_type",
     .support = accepted("there is no sequence parallelism"),
     .neutral = "fp32"},
    {.name = "disable_allgather", .type = Type::kBool, .support = kNotHere, .neutral = "false"},
    {.name = "dump_state",
     .type = Type::kBool,
     .support = accepted("`hftrain plan` shows the configuration"),
     .neutral = "false"},
    {.name = "disable_python_gc",
     .type = Type::kBool,
     .support = accepted("there is no Python"),
     .neutral = "false"},
    {.name = "wall_clock_breakdown",
     .type = Type::kBool,
     .support = accepted("hftrain/summary.json has the seconds of every phase"),
     .neutral = "false"},
    {.name = "memory_breakdown",
     .type = Type::kBool,
     .support = accepted("--skip_memory_metrics false reports memory"),
     .neutral = "false"},
    {.name = "log_level", .support = accepted("--log_level decides")},
    {.name = "zero_allow_untested_optimizer",
     .type = Type::kBool,
     .support = accepted("every optimizer works with every stage"),
     .neutral = "true"},
    {.name = "zero_force_ds_cpu_optimizer",
     .type = Type::kBool,
     .support = accepted("offloaded state is always updated by the CPU's form of the optimizer"),
     .neutral = "true"},
    {.name = "dataloader_drop_last", .type = Type::kBool},
    {.name = "vocabulary_size", .type = Type::kInt},
    {.name = "data_types", .type = Type::kMapping, .keys = kDataTypes},
    {.name = "fp16", .type = Type::kMapping, .keys = kFp16, .drops_auto = true},
    {.name = "bf16", .type = Type::kMapping, .keys = kBf16, .drops_auto = true, .aliases = {"bfloat16"}},
    {.name = "optimizer", .type = Type::kMapping, .keys = kOptimizerSection},
    {.name = "scheduler", .type = Type::kMapping, .keys = kSchedulerSection},
    {.name = "zero_optimization", .type = Type::kMapping, .keys = kZero, .drops_auto = true},
    {.name = "aio", .type = Type::kMapping, .keys = kAio},
    {.name = "checkpoint", .type = Type::kMapping, .keys = kCheckpoint},
    {.name = "activation_checkpointing", .type = Type::kMapping, .keys = kActivationCheckpointing},
    {.name = "flops_profiler", .type = Type::kMapping, .keys = kFlopsProfiler},
    {.name = "tensorboard", .type = Type::kMapping, .keys = kTensorboard, .drops_auto = true},
    {.name = "csv_monitor", .type = Type::kMapping, .keys = kCsvMonitor, .drops_auto = true},
    {.name = "wandb", .type = Type::kMapping, .keys = kWandb, .drops_auto = true},
    {.name = "comet", .type = Type::kMapping, .keys = kComet, .drops_auto = true},
    {.name = "comms_logger",
     .type = Type::kMapping,
     .support = accepted("hftrain/summary.json has the bytes that every rank sent")},
    {.name = "timers",
     .type = Type::kMapping,
     .support = accepted("hftrain/summary.json has the seconds of every phase")},
    {.name = "use_data_before_expert_parallelism",
     .type = Type::kBool,
     .support = kNotHere,
     .neutral = "false",
     .aliases = {"use_data_before_expert_parallel_"}},
    {.name = "pipeline", .type = Type::kMapping, .support = kNotHere},
    {.name = "data_efficiency", .type = Type::kMapping, .support = kNotHere},
    {.name = "autotuning",
     .type = Type::kMapping,
     .support =
         refused("there is no search over configurations", "`hftrain plan`, which shows memory per rank")},
    {.name = "hybrid_engine", .type = Type::kMapping, .support = kNotHere},
    {.name = "compile", .type = Type::kMapping, .support = refused("kernels are compiled ahead of time")},
    {.name = "tensor_parallel", .type = Type::kMapping, .support = kNotHere},
    {.name = "expert_parallel", .type = Type::kMapping, .support = kNotHere},
    {.name = "weight_quantization", .type = Type::kMapping, .support = kNotHere},
    {.name = "datastates", .type = Type::kMapping, .support = kNotHere, .aliases = {"datastates_ckpt"}},
    {.name = "torch_autocast",
     .type = Type::kMapping,
     .support = refused("mixed precision is that of the flags", "bf16 or fp16")},
    {.name = "nebula", .type = Type::kMapping, .support = kRemoved, .told_off = true},
    {.name = "compression_training", .type = Type::kMapping, .support = kRemoved, .told_off = true},
    {.name = "amp",
     .type = Type::kMapping,
     .support = refused("there is no Apex here", "fp16 or bf16"),
     .told_off = true},
    {.name = "quantize_training", .type = Type::kMapping, .support = kRemoved, .told_off = true},
    {.name = "sparse_gradients",
     .type = Type::kBool,
     .support = kRemoved,
     .neutral = "false",
     .told_off = true},
    {.name = "eigenvalue", .type = Type::kMapping, .support = kRemoved, .told_off = true},
    {.name = "sparse_attention", .type = Type::kMapping, .support = kRemoved, .told_off = true},
    {.name = "elasticity",
     .type = Type::kMapping,
     .support =
         refused("a run has as many ranks as it started with; a checkpoint resumes with another number"),
     .told_off = true},
    {.name = "graph_harvesting",
     .type = Type::kBool,
     .support = kRemoved,
     .neutral = "false",
     .told_off = true},
    {.name = "curriculum_learning", .type = Type::kMapping, .support = kRemoved, .told_off = true},
    {.name = "progressive_layer_drop", .type = Type::kMapping, .support = kRemoved, .told_off = true},
};

constexpr Support kBelongsInClipping =
    refused("clipping is not an option of the optimizer", "gradient_clipping");

const SectionKey kLearningRate = {
    .name = "lr", .type = Type::kFloat, .range = at_least(0), .automatic = true};
const SectionKey kBetas = {.name = "betas", .type = Type::kList, .automatic = true};
const SectionKey kEpsilon = {.name = "eps", .type = Type::kFloat, .range = at_least(0), .automatic = true};
const SectionKey kDecay = {
    .name = "weight_decay", .type = Type::kFloat, .range = at_least(0), .automatic = true};
const SectionKey kMaxNorm = {
    .name = "max_grad_norm", .type = Type::kFloat, .support = kBelongsInClipping, .neutral = "0"};

const SectionKey kAdam[] = {
    kLearningRate,
    kBetas,
    kEpsilon,
    kDecay,
    kMaxNorm,
    {.name = "torch_adam",
     .type = Type::kBool,
     .support = accepted("there is one AdamW"),
     .neutral = "false"},
    {.name = "adam_w_mode", .type = Type::kBool},
    {.name = "bias_correction",
     .type = Type::kBool,
     .support = refused("the moments are always corrected"),
     .neutral = "true"},
    {.name = "amsgrad", .type = Type::kBool, .support = kNotHere, .neutral = "false"},
    {.name = "fp32_optimizer_states", .type = Type::kBool, .support = kFullPrecision, .neutral = "true"},
};
const SectionKey kAdagrad[] = {kLearningRate,
                               kEpsilon,
                               kDecay,
                               kMaxNorm,
                               {.name = "lr_decay", .type = Type::kFloat, .range = at_least(0)}};
const SectionKey kLion[] = {kLearningRate, kBetas, kDecay, kMaxNorm};
const SectionKey kSgd[] = {kLearningRate,
                           kDecay,
                           kMaxNorm,
                           {.name = "momentum", .type = Type::kFloat, .range = at_least(0)},
                           {.name = "dampening", .type = Type::kFloat},
                           {.name = "nesterov", .type = Type::kBool}};
const SectionKey kRmsprop[] = {kLearningRate,
                               kEpsilon,
                               kDecay,
                               kMaxNorm,
                               {.name = "alpha", .type = Type::kFloat, .range = at_least(0)},
                               {.name = "momentum", .type = Type::kFloat, .range = at_least(0)},
                               {.name = "centered", .type = Type::kBool}};

const DeepSpeedOptimizer kOptimizers[] = {
    {"adam", "adamw_torch_fused", kAdam, 1e-3},
    {"adamw", "adamw_torch_fused", kAdam, 1e-3},
    {"adagrad", "adagrad", kAdagrad, 1e-2},
    {"lion", "lion_32bit", kLion, 1e-3},
    {"sgd", "sgd", kSgd, 1e-3},
    {"rmsprop", "rmsprop", kRmsprop, 1e-2},
};

const SectionKey kMinimum = {
    .name = "warmup_min_lr", .type = Type::kFloat, .range = at_least(0), .automatic = true};
const SectionKey kMaximum = {
    .name = "warmup_max_lr", .type = Type::kFloat, .range = at_least(0), .automatic = true};
const SectionKey kWarmupSteps = {
    .name = "warmup_num_steps", .type = Type::kInt, .range = at_least(0), .automatic = true};
const SectionKey kTotalSteps = {
    .name = "total_num_steps", .type = Type::kInt, .range = at_least(1), .automatic = true};
const SectionKey kWarmupType = {.name = "warmup_type"};
const SectionKey kLastBatch = {.name = "last_batch_iteration",
                               .type = Type::kInt,
                               .support = accepted("a resumed run continues its schedule"),
                               .neutral = "-1"};

const SectionKey kWarmup[] = {kMinimum, kMaximum, kWarmupSteps, kWarmupType, kLastBatch};
const SectionKey kWarmupDecay[] = {kMinimum, kMaximum, kWarmupSteps, kWarmupType, kTotalSteps, kLastBatch};
const SectionKey kWarmupCosine[] = {
    kWarmupSteps,
    kWarmupType,
    kTotalSteps,
    {.name = "warmup_min_ratio", .type = Type::kFloat, .range = between(0, 1)},
    {.name = "cos_min_ratio", .type = Type::kFloat, .range = between(0, 1)},
    kLastBatch};
const SectionKey kRangeTest[] = {
    {.name = "lr_range_test_min_lr", .type = Type::kFloat, .range = at_least(0)},
    {.name = "lr_range_test_step_size", .type = Type::kInt, .range = at_least(1)},
    {.name = "lr_range_test_step_rate", .type = Type::kFloat},
    {.name = "lr_range_test_staircase", .type = Type::kBool},
    kLastBatch};
const SectionKey kOneCycle[] = {
    {.name = "cycle_min_lr", .type = Type::kFloat, .range = at_least(0)},
    {.name = "cycle_max_lr", .type = Type::kFloat, .range = at_least(0)},
    {.name = "decay_lr_rate", .type = Type::kFloat, .range = at_least(0)},
    {.name = "cycle_first_step_size", .type = Type::kInt, .range = at_least(1)},
    {.name = "cycle_second_step_size", .type = Type::kInt, .range = at_least(1)},
    {.name = "cycle_first_stair_count", .type = Type::kInt, .range = at_least(0)},
    {.name = "cycle_second_stair_count", .type = Type::kInt, .range = at_least(0)},
    {.name = "decay_step_size", .type = Type::kInt, .range = at_least(0)},
    {.name = "cycle_momentum", .type = Type::kBool},
    {.name = "cycle_min_mom", .type = Type::kFloat, .range = from_below(0, 1)},
    {.name = "cycle_max_mom", .type = Type::kFloat, .range = from_below(0, 1)},
    {.name = "decay_mom_rate", .type = Type::kFloat, .range = at_least(0)},
    kLastBatch};

const DeepSpeedScheduler kSchedulers[] = {
    {"WarmupLR", kWarmup, "constant_with_warmup"},
    {"WarmupDecayLR", kWarmupDecay, "linear"},
    {"WarmupCosineLR", kWarmupCosine, "cosine"},
    {"LRRangeTest", kRangeTest, ""},
    {"OneCycle", kOneCycle, ""},
};

}  // namespace

std::span<const SectionKey> deepspeed_keys() {
  return kTop;
}

const DeepSpeedOptimizer* deepspeed_optimizer(const std::string& type) {
  const auto* found = std::find_if(std::begin(kOptimizers), std::end(kOptimizers),
                                   [&](const DeepSpeedOptimizer& each) { return each.type == type; });
  return found == std::end(kOptimizers) ? nullptr : found;
}

const DeepSpeedScheduler* deepspeed_scheduler(const std::string& type) {
  const auto* found = std::find_if(std::begin(kSchedulers), std::end(kSchedulers),
                                   [&](const DeepSpeedScheduler& each) { return each.type == type; });
  return found == std::end(kSchedulers) ? nullptr : found;
}

std::vector<std::string> deepspeed_scheduler_types() {
  std::vector<std::string> types;
  for (const DeepSpeedScheduler& each : kSchedulers) types.emplace_back(each.type);
  return types;
}

}  // namespace hftrain::arguments

// Files, checkpoints, profiles and monitors.
#include "hftrain/arguments/import/deepspeed_key_tables.h"

namespace hftrain::arguments {
namespace {

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

const SectionKey kParallelWrite[] = {{.name = "pipeline_stage", .type = Type::kBool}};
const SectionKey kCheckpoint[] = {
    {.name = "tag_validation",
     .support = accepted("ranks always agree on a checkpoint"),
     .neutral = "warn",
     .words = {"warn", "ignore", "fail"},
     .any_case = true},
    {.name = "load_universal",
     .type = Type::kBool,
     .support = deepspeed_tables::kOwnFiles,
     .neutral = "false"},
    {.name = "use_node_local_storage", .type = Type::kBool},
    {.name = "parallel_write",
     .type = Type::kMapping,
     .support = accepted("every rank writes its own shard"),
     .keys = kParallelWrite},
};

constexpr Support kNoDeepSpeedCheckpointing =
    accepted("only models that call DeepSpeed's checkpoint function read it; use --gradient_checkpointing");
// A key of it, whose neutral value says nothing.
SectionKey of_checkpointing(std::string_view name, Type type = Type::kBool,
                            std::string_view neutral = "false") {
  return {
      .name = name, .type = type, .support = kNoDeepSpeedCheckpointing, .neutral = neutral, .warned = true};
}

const SectionKey kActivationCheckpointing[] = {
    of_checkpointing("partition_activations"),
    of_checkpointing("number_checkpoints", Type::kInt, "0"),
    of_checkpointing("contiguous_memory_optimization"),
    of_checkpointing("synchronize_checkpoint_boundary"),
    of_checkpointing("profile"),
    of_checkpointing("cpu_checkpointing"),
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

const SectionKey kCommsLogger[] = {{.name = "enabled", .type = Type::kBool},
                                   {.name = "verbose", .type = Type::kBool},
                                   {.name = "prof_all", .type = Type::kBool},
                                   {.name = "prof_ops", .type = Type::kList},
                                   {.name = "debug", .type = Type::kBool}};
const SectionKey kThroughput[] = {{.name = "enabled", .type = Type::kBool},
                                  {.name = "synchronized", .type = Type::kBool}};
const SectionKey kTimers[] = {
    {.name = "throughput", .type = Type::kMapping, .keys = kThroughput, .drops_auto = true}};

}  // namespace

namespace deepspeed_tables {

std::span<const SectionKey> aio() {
  return kAio;
}

std::span<const SectionKey> checkpoint() {
  return kCheckpoint;
}

std::span<const SectionKey> activation_checkpointing() {
  return kActivationCheckpointing;
}

std::span<const SectionKey> flops_profiler() {
  return kFlopsProfiler;
}

std::span<const SectionKey> tensorboard() {
  return kTensorboard;
}

std::span<const SectionKey> csv_monitor() {
  return kCsvMonitor;
}

std::span<const SectionKey> wandb() {
  return kWandb;
}

std::span<const SectionKey> comet() {
  return kComet;
}

std::span<const SectionKey> comms_logger() {
  return kCommsLogger;
}

std::span<const SectionKey> timers() {
  return kTimers;
}

}  // namespace deepspeed_tables

}  // namespace hftrain::arguments

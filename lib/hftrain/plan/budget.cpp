// Bytes a run needs. Parameters, gradients and optimizer state are exact; activations are an estimate from
// the tensors that the backward pass keeps; disk counts what a checkpoint holds.
#include <algorithm>

#include "hftrain/base/text.h"
#include "hftrain/plan/rank_state.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

constexpr int64_t kFullPrecision = 4;  // bytes

// What one block keeps for backward, in numbers per token; `square` in numbers per token and position of the
// block.
struct BlockActivations {
  int64_t linear = 0;
  int64_t square = 0;
};

BlockActivations gpt2_activations(const architectures::Gpt2Config& config) {
  const int64_t width = config.n_embd, inner = config.n_inner > 0 ? config.n_inner : 4 * width;
  BlockActivations block;
  // Both norms' inputs and outputs, q, k, v, the attention's output; the MLP before and after its activation.
  block.linear = 8 * width + 2 * inner;
  if (config.resid_pdrop > 0) block.linear += 2 * width;
  // Dropout on attention weights takes the form that keeps them, once before and once after.
  if (config.attn_pdrop > 0) block.square = 2 * config.n_head;
  return block;
}

BlockActivations llama_activations(const architectures::LlamaConfig& config) {
  const int64_t width = config.hidden_size;
  const int64_t queries = config.num_attention_heads * config.head_dim;
  const int64_t keys = config.num_key_value_heads * config.head_dim;
  BlockActivations block;
  // Both norms' inputs and outputs; q and k before and after the rotation, v, the attention's output; gate,
  // up and their product.
  block.linear = 4 * width + 3 * queries + 3 * keys + 3 * config.intermediate_size;
  if (config.attention_dropout > 0) block.square = 2 * config.num_attention_heads;
  return block;
}

int64_t activation_bytes(const architectures::Architecture& architecture, const RunPlan& plan) {
  const int64_t tokens = plan.batch.per_device_train * plan.data.block_size /
                         (plan.data.split_batches ? plan.ranks.world_size : 1);
  const int64_t width = architecture.hidden_size(), layers = architecture.layers();
  const int64_t item = bytes_of(plan.precision.compute);
  const BlockActivations block = architecture.gpt2() != nullptr ? gpt2_activations(*architecture.gpt2())
                                                                : llama_activations(*architecture.llama());
  const int64_t one_block = tokens * (block.linear + block.square * plan.data.block_size) * item;
  int64_t blocks = layers * one_block;
  if (plan.model.gradient_checkpointing) {
    // Only what enters each segment is kept, and one segment at a time is computed again.
    const int64_t segment = std::clamp<int64_t>(plan.model.checkpoint_every_n_layers, 1, layers);
    blocks = (layers + segment - 1) / segment * tokens * width * item + segment * one_block;
  }
  // The logits, and in float32 the softmax that becomes their gradient.
  const int64_t logits = tokens * architecture.vocab_size() * (item + kFullPrecision);
  return blocks + 2 * tokens * width * item + logits;
}

int64_t saves_of_run(const RunPlan& plan) {
  const IntervalPlan& interval = plan.saving.interval;
  if (interval.strategy == "epoch") return plan.steps.epochs;
  if (interval.strategy == "best") return 1;
  if (interval.strategy != "steps" || interval.steps <= 0) return 0;
  return (plan.steps.max_steps + interval.steps - 1) / interval.steps;  // the last update saves too
}

std::string bytes(int64_t count) {
  return format_bytes(static_cast<uint64_t>(std::max<int64_t>(count, 0)));
}

Diagnostic too_large(const std::string& what, const std::string& why, const std::string& hint) {
  return {Diagnostic::Severity::kError, what, "", why, hint};
}

// What certainly must be there, in this rank's memory and in the node's.
struct NeededMemory {
  int64_t device = 0;  // 0 on the CPU
  int64_t node = 0;
};

NeededMemory needed_memory(const RunPlan& plan) {
  const MemoryPlan& memory = plan.memory_per_rank;
  const int64_t state = memory.parameters + memory.gradients + memory.optimizer;
  const bool gpu = on_gpu(plan.ranks);
  return {gpu ? state - memory.host : 0,
          (kProgramBytes + (gpu ? memory.host : state)) * plan.ranks.local_world_size +
              background_copies(plan).node};
}

void check_memory(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  const MemoryPlan& memory = plan.memory_per_rank;
  const NeededMemory needed = needed_memory(plan);
  const std::string why = "the program itself " + bytes(kProgramBytes) + ", parameters " +
                          bytes(memory.parameters) + ", gradients " + bytes(memory.gradients) +
                          ", optimizer " + bytes(memory.optimizer);
  const int64_t copied = background_copies(plan).node;
  const std::string copies = copied > 0 ? "; --async_save keeps copies of " + bytes(copied) : "";
  const bool shards = plan.strategy.sharded();
  const int64_t host = input.topology.host.usable_memory_bytes();
  if (host > 0 && needed.node > host) {
    problems.add(
        ExitCode::kHostMemory,
        too_large("the model and its training state need " + bytes(needed.node) + " of host memory, of " +
                      bytes(host),
                  why + ", for each of " + std::to_string(plan.ranks.local_world_size) + " ranks" + copies,
                  shards ? "a smaller model, or offload to NVMe"
                         : "a smaller model, fewer ranks, or --fsdp \"full_shard auto_wrap\""));
  }
  if (!on_gpu(plan.ranks)) return;
  for (const RankPlan& rank : plan.ranks.ranks) {
    const VisibleDevices& visible = topology_of(input, rank).visible;
    const CudaDevice& device = visible.devices[static_cast<size_t>(rank.ordinal)].device;
    if (device.total_bytes <= 0 || needed.device <= device.total_bytes) continue;
    problems.add(ExitCode::kDeviceMemory,
                 too_large("the model and its training state need " + bytes(needed.device) + ", and GPU " +
                               std::to_string(device.index) + " has " + bytes(device.total_bytes),
                           why,
                           shards ? "a smaller model, more GPUs, or offload: --fsdp \"full_shard offload\""
                                  : "a smaller model, or --fsdp \"full_shard auto_wrap\""));
    return;
  }
}

void check_nvme(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  const NvmePlan& nvme = plan.strategy.nvme;
  if (!input.nvme_free_bytes || plan.disk.nvme_bytes <= static_cast<int64_t>(*input.nvme_free_bytes)) return;
  problems.add(ExitCode::kDisk, {Diagnostic::Severity::kError, "the offloaded state does not fit on the disk",
                                 nvme.optimizer_path.empty() ? nvme.parameters_path : nvme.optimizer_path,
                                 "it takes " + bytes(plan.disk.nvme_bytes) + ", and " +
                                     format_bytes(*input.nvme_free_bytes) + " are free",
                                 "free space, or another nvme_path"});
}

}  // namespace

MemoryPlan estimate_memory(const architectures::Architecture& architecture, const RunPlan& plan) {
  const RankState state = rank_state(architecture.parameters(), plan);
  MemoryPlan memory;
  memory.parameters = state.parameters;
  memory.gradients = state.gradients;
  memory.optimizer = state.optimizer;
  memory.buffers = state.gathered + state.nvme_staging;
  memory.host = state.on_host;
  memory.saving = state.saving;
  if (plan.do_train) memory.activations = activation_bytes(architecture, plan);
  memory.total =
      memory.parameters + memory.gradients + memory.optimizer + memory.activations + memory.buffers;
  return memory;
}

DiskPlan estimate_disk(const architectures::Architecture& architecture, const RunPlan& plan,
                       uint64_t free_bytes) {
  const architectures::ParameterTable& table = architecture.parameters();
  DiskPlan disk;
  disk.free_bytes = static_cast<int64_t>(free_bytes);
  disk.nvme_bytes = rank_state(table, plan).on_nvme * plan.ranks.local_world_size;
  const int64_t weights = weights_bytes(plan);
  disk.checkpoint_bytes = weights + (plan.saving.only_model ? 0 : whole_optimizer_bytes(table, plan));
  if (!plan.do_train) return disk;
  const int64_t saves = saves_of_run(plan);
  if (plan.saving.interval.strategy == "no") {
    disk.needed_bytes = weights;
    return disk;
  }
  // The best checkpoint is kept beside the newest one; the one that is being written comes on top.
  const bool keeps_best = !plan.evaluation.metric_for_best_model.empty();
  disk.checkpoints_kept =
      plan.saving.total_limit ? std::max<int64_t>(*plan.saving.total_limit, keeps_best ? 2 : 1) + 1 : -1;
  const int64_t at_once =
      disk.checkpoints_kept > 0 && saves > 0 ? std::min(saves, disk.checkpoints_kept) : saves;
  disk.needed_bytes = at_once * disk.checkpoint_bytes + weights;
  return disk;
}

void check_budget(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  if (!plan.do_train) return;
  check_memory(input, plan, problems);
  check_nvme(input, plan, problems);
  const bool saves = plan.saving.interval.strategy != "no";
  const int64_t least = saves ? plan.disk.checkpoint_bytes : weights_bytes(plan);
  if (least > plan.disk.free_bytes) {
    problems.add(
        ExitCode::kDisk,
        {Diagnostic::Severity::kError,
         saves ? "not one checkpoint fits on the disk" : "the model does not fit on the disk",
         plan.output_dir, "it takes " + bytes(least) + ", and " + bytes(plan.disk.free_bytes) + " are free",
         "free space, or another --output_dir"});
  }
}

}  // namespace hftrain::plan

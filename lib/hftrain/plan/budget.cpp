// Bytes a run needs. Parameters, gradients and optimizer state are exact; activations are an estimate from
// the tensors that the backward pass keeps; disk counts what a checkpoint holds.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <set>

#include "hftrain/base/text.h"
#include "hftrain/generation/generation_config.h"
#include "hftrain/plan/rank_memory.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/plan/text_table.h"

namespace hftrain::plan {
namespace {

constexpr int64_t kFullPrecision = 4;  // bytes
// Of logits of a vocabulary (nn/head_loss.cpp).
constexpr int64_t kHostChunkBytes = int64_t{16} << 20, kDeviceChunkBytes = int64_t{256} << 20;
constexpr int64_t kHostChunkRows = 256, kDeviceChunkRows = 1024;  // at least

bool ends_in_vocabulary(const architectures::Architecture& architecture) {
  return architecture.outputs() == architecture.vocab_size();
}

// The most tokens of so many that are masked in all but one batch of a thousand.
int64_t masked_tokens(double probability, int64_t tokens) {
  constexpr double kDeviations = 3;
  const double count = static_cast<double>(tokens), mean = probability * count;
  const double spread = kDeviations * std::sqrt(mean * (1 - probability));
  return std::min(tokens, static_cast<int64_t>(std::ceil(mean + spread)));
}

// Of so many tokens the rows whose logits there is room for at once: the fused loss goes through a vocabulary
// chunk by chunk, only through places with a label, in buffers of powers of two.
int64_t rows_of_logits(const architectures::Architecture& architecture, const RunPlan& plan, int64_t tokens) {
  if (!ends_in_vocabulary(architecture) || !plan.model.fused_kernels.loss) return tokens;
  const bool gpu = on_gpu(plan.ranks);
  const int64_t chunk =
      std::max(gpu ? kDeviceChunkRows : kHostChunkRows,
               (gpu ? kDeviceChunkBytes : kHostChunkBytes) / (architecture.outputs() * kFullPrecision));
  const int64_t labelled = plan.data.masking ? masked_tokens(plan.data.masking->probability, tokens) : tokens;
  return std::min(chunk, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(labelled))));
}

// Of such a row: its logits and what is computed of them in float32, which the processor's kernel writes in their
// place. Where it has none, for smaller types, they are converted first.
int64_t bytes_of_logit(const architectures::Architecture& architecture, const RunPlan& plan) {
  const int64_t item = bytes_of(plan.precision.compute);
  const bool fused = ends_in_vocabulary(architecture) && plan.model.fused_kernels.loss;
  const bool half_on_host = !on_gpu(plan.ranks) && item != kFullPrecision;
  if (fused && !plan.optimizer.loss_by_probability && !on_gpu(plan.ranks) && !half_on_host) return item;
  // The plain loss keeps its softmax and makes a gradient beside it.
  return item + (1 + (half_on_host ? 1 : 0) + (fused ? 0 : 1)) * kFullPrecision;
}

// Of a number of the last matrix's gradient: in float16, and in bfloat16 of several chunks, it is summed in float32 beside a
// chunk's product, which is float32, too, on a GPU, or beside its copy in the end.
int64_t bytes_of_head_gradient(const architectures::Architecture& architecture, const RunPlan& plan,
                               int64_t tokens) {
  const int64_t item = bytes_of(plan.precision.compute);
  const bool chunks = tokens > rows_of_logits(architecture, plan, tokens);
  const bool wide = item != kFullPrecision && (chunks || plan.precision.compute == "float16");
  if (!wide) return item;
  return kFullPrecision + (chunks && on_gpu(plan.ranks) ? kFullPrecision : item);
}

// Tokens of a rank's micro-batch that a stack works on, and of the rows they stand in.
struct StackTokens {
  int64_t all = 0, row = 0;
};

// Whether fused attention computes in float32 what is bfloat16 before it and after it (nn/attention.cpp).
bool widens(const RunPlan& plan, bool widens_bfloat16) {
  return widens_bfloat16 && !on_gpu(plan.ranks) && plan.precision.compute == "bfloat16";
}

// What its attentions keep in float32 on a CPU, beside what they keep in any case. The form that keeps weights has them so on
// every processor, and queries, keys and values, of which those of an encoder's tokens are as many as these; the fused one keeps
// what comes out where it is widened.
int64_t widened_bytes(const architectures::ActivationFootprint& block, int64_t own, int64_t input,
                      int64_t item, bool wide) {
  const int64_t more = kFullPrecision - item, fused = wide ? kFullPrecision : 0;
  const int64_t across = block.encoded / 2, within = block.attended - across;  // of keys and values each
  const int64_t of_own =
      within * (block.square > 0 ? 3 * more : fused) + across * (block.cross > 0 ? more : fused);
  return own * of_own + (block.cross > 0 ? input * block.encoded * more : 0);
}

using Windows = std::vector<std::optional<int64_t>>;

bool is_cut(const std::optional<int64_t>& window, const StackTokens& tokens) {
  return window && *window < tokens.row;
}

// Keys that a GPU's kernels need once for each head of queries, per token: in float32, or beside a mask. Of blocks of which some
// have a window, the mean.
int64_t repeated_numbers(const architectures::ActivationFootprint& block, const StackTokens& own,
                         const RunPlan& plan, const Windows& windows) {
  const bool all = bytes_of(plan.precision.compute) == kFullPrecision || !plan.data.has_rows_of_one_length();
  if (all || windows.empty()) return all ? block.repeated : 0;
  const auto cut = std::ranges::count_if(windows, [&](const auto& window) { return is_cut(window, own); });
  return block.repeated * cut / static_cast<int64_t>(windows.size());
}

// What a block of a stack keeps; `input`: the tokens that a decoder attends to; `windows`: Architecture::causal_windows().
int64_t block_bytes(const architectures::BlockStack& stack, const StackTokens& own, const StackTokens& input,
                    const RunPlan& plan, const Windows& windows, bool wide) {
  const bool cpu = !on_gpu(plan.ranks);
  const int64_t item = bytes_of(plan.precision.compute), weight = cpu ? kFullPrecision : item;
  architectures::ActivationFootprint block = stack.block;
  if (cpu && block.dropped > 0) block.square = block.dropped;
  if (!cpu) block.cross = 0;
  if (!cpu) block.linear += repeated_numbers(block, own, plan, windows);
  return own.all * (block.linear * item + (block.square * own.row + block.cross * input.row) * weight) +
         input.all * block.encoded * item + (cpu ? widened_bytes(block, own.all, input.all, item, wide) : 0);
}

// What all of them keep.
int64_t stack_bytes(const architectures::BlockStack& stack, const StackTokens& own, int64_t one_block,
                    int64_t width, const RunPlan& plan) {
  const int64_t item = bytes_of(plan.precision.compute);
  if (!plan.model.gradient_checkpointing) return stack.layers * one_block;
  // Only what enters each segment is kept, and one segment at a time is computed again.
  const int64_t segment = std::clamp<int64_t>(plan.model.checkpoint_every_n_layers, 1, stack.layers);
  const int64_t again = stack.goes_on ? 0 : segment * one_block;
  return (stack.layers + segment - 1) / segment * own.all * width * item + again;
}

// What the adapters of a block keep per token: what goes into each once more where it drops out, and its rank twice.
int64_t adapter_numbers(const architectures::Architecture& architecture) {
  if (!architecture.adapter() || architecture.layers() == 0) return 0;
  int64_t numbers = 0;
  for (const architectures::ParameterSpec& spec : architecture.parameters().parameters) {
    if (!spec.adapts || spec.adapts->half != architectures::AdapterHalf::kDown) continue;
    numbers += 2 * spec.shape[0] + (architecture.adapter()->dropout > 0 ? spec.shape[1] : 0);
  }
  return (numbers + architecture.layers() - 1) / architecture.layers();
}

// Whether the matrix before the logits of a vocabulary is trained: the last of its shape, which may be that of the embeddings.
bool trains_last_matrix(const architectures::Architecture& architecture, const RunPlan& plan) {
  const std::vector<int64_t> shape = {architecture.outputs(), architecture.hidden_size()};
  const auto& parameters = architecture.parameters().parameters;
  for (size_t i = parameters.size(); i-- > 0;) {
    if (parameters[i].shape == shape)
      return !std::ranges::binary_search(plan.model.frozen, static_cast<int>(i));
  }
  return true;
}

// Masks of a decoder's attention on a GPU, of which the blocks of a window share one (nn/shared_masks.h): for each row where
// padding stands before tokens or is looked at (models/decoder_model.cpp), else for all. A CPU's hold a byte a place, and are few.
int64_t mask_bytes(const architectures::Architecture& architecture, const RunPlan& plan,
                   const StackTokens& input) {
  if (!on_gpu(plan.ranks)) return 0;
  const bool answers = architecture.head() == architectures::Head::kQuestionAnswering;
  const bool padded = !plan.data.padding.columns.empty() && (plan.data.padding.on_left || answers);
  const int64_t kept = (input.row + 7) / 8 * 8 * bytes_of(plan.precision.compute);
  const Windows all = architecture.causal_windows();
  int64_t bytes = 0;
  for (const std::optional<int64_t>& window : std::set(all.begin(), all.end())) {
    if (padded)
      bytes += input.all * kept;
    else if (is_cut(window, input))
      bytes += input.row * kept;
  }
  return bytes;
}

int64_t activation_bytes(const architectures::Architecture& architecture, const RunPlan& plan, bool wide) {
  const int64_t split = plan.data.split_batches ? plan.ranks.world_size : 1;
  const auto tokens_of = [&](int64_t length) {
    return StackTokens{plan.batch.per_device_train * length / split, length};
  };
  const StackTokens input = tokens_of(plan.data.block_size);
  const StackTokens target = plan.data.target_size > 0 ? tokens_of(plan.data.target_size) : input;
  const int64_t width = architecture.hidden_size(), item = bytes_of(plan.precision.compute);
  // Backward goes through one block at a time, with gradients of what it keeps.
  int64_t blocks = 0, ends = 0, backward = 0;
  const Windows windows = architecture.causal_windows();
  const StackTokens* last = &input;
  for (architectures::BlockStack stack : architecture.stacks()) {
    stack.block.linear += adapter_numbers(architecture);
    last = stack.decodes ? &target : &input;
    const int64_t one_block = block_bytes(stack, *last, input, plan, windows, wide);
    blocks += stack_bytes(stack, *last, one_block, width, plan);
    backward = std::max(backward, one_block);
    if (!stack.goes_on) ends += 2 * last->all * width * item;
  }
  // The logits, and in float32 the softmax that becomes their gradient. The fused loss of a vocabulary makes the
  // gradients of its last matrix, unless that is frozen, and of what it is applied to at once, and backward hands them on.
  const int64_t outputs = architecture.outputs();
  const bool fused = ends_in_vocabulary(architecture) && plan.model.fused_kernels.loss;
  const bool trains_last = fused && trains_last_matrix(architecture, plan);
  const int64_t handed_on =
      (fused ? last->all * width * item : 0) +
      (trains_last ? outputs * width * bytes_of_head_gradient(architecture, plan, last->all) : 0);
  // For products of smaller types oneDNN copies a matrix first.
  const int64_t packed = on_gpu(plan.ranks) || item == kFullPrecision ? 0 : outputs * width * item;
  return blocks + backward + ends + handed_on + packed + mask_bytes(architecture, plan, input) +
         rows_of_logits(architecture, plan, last->all) * outputs * bytes_of_logit(architecture, plan);
}

struct WrittenTexts {
  int64_t length = 0, beams = 1;  // tokens of a row, texts that are followed for it
};

WrittenTexts written_texts(const RunPlan& plan) {
  generation::GenerationConfig config;
  generation::take_json(config, plan.evaluation.generation, std::numeric_limits<int64_t>::max(), "the plan");
  return {1 + config.most_new_tokens(1), config.num_beams};
}

// While texts are written: keys and values of each beam's text and of what it reads, numbers that a decoder's block
// takes from a token of the encoder's being those of a token of its own, too. One layer's are there twice while beams
// change places.
int64_t writing_bytes(const architectures::Architecture& architecture, const RunPlan& plan, int64_t rows) {
  const WrittenTexts texts = written_texts(plan);
  const int64_t beams = rows * texts.beams, outputs = architecture.outputs();
  const int64_t places = texts.length + plan.data.block_size, item = bytes_of(plan.precision.compute);
  int64_t cache = 0;
  for (const architectures::BlockStack& stack : architecture.stacks()) {
    if (stack.decodes) cache += (stack.layers + 1) * beams * places * stack.block.encoded * item;
  }
  // The scores of a step in both precisions, and a search's own of one row.
  return cache + beams * outputs * (item + kFullPrecision) + 2 * texts.beams * outputs * kFullPrecision;
}

// Without gradients one block is computed at a time. Of a vocabulary there are the logits of a chunk, and in
// float32 their probabilities (nn/head_loss.cpp); other heads have all of theirs. Outputs of as many batches as
// are moved together stand on the device, and once more joined; scorers keep what their metrics need, and where
// several ranks merge theirs, all of it twice.
int64_t evaluation_bytes(const architectures::Architecture& architecture, const RunPlan& plan) {
  const EvaluationPlan& evaluation = plan.evaluation;
  if (!plan.data.validation && !plan.data.test) return 0;
  const int64_t rows = plan.batch.per_device_eval / (plan.data.split_batches ? plan.ranks.world_size : 1);
  const int64_t tokens = rows * plan.data.block_size, outputs = architecture.outputs();
  const int64_t item = bytes_of(plan.precision.compute);
  const architectures::ActivationFootprint block = architecture.activations();
  const int64_t one_block = tokens * (block.linear + block.square * plan.data.block_size) * item;
  const bool whole = evaluation.outputs == tasks::OutputForm::kScores;
  const int64_t at_once = whole ? tokens : rows_of_logits(architecture, plan, tokens);
  // The last batch may be smaller, and its buffer is then kept beside the others'.
  const int64_t logits = (at_once + at_once / 2) * outputs * bytes_of_logit(architecture, plan);
  int64_t kept = 0;
  if (evaluation.outputs == tasks::OutputForm::kBestIds)
    kept = tokens * static_cast<int64_t>(sizeof(int64_t));
  if (evaluation.outputs == tasks::OutputForm::kScores) kept = tokens * outputs * kFullPrecision;
  const bool writes = !evaluation.generation.is_null();
  if (writes) kept = rows * written_texts(plan).length * static_cast<int64_t>(sizeof(int64_t));
  const int64_t copies = evaluation.joins_batches && evaluation.accumulation_steps > 1 ? 2 : 1;
  const int64_t scorers = evaluation.kept_bytes * (plan.ranks.world_size > 1 ? 2 : 1);
  // A batch's texts are written before its loss is computed.
  const int64_t one_pass =
      std::max(one_block + logits, writes ? writing_bytes(architecture, plan, rows) : int64_t{0});
  return one_pass + 2 * tokens * architecture.hidden_size() * item +
         kept * evaluation.accumulation_steps * copies + scorers;
}

int64_t saves_of_run(const RunPlan& plan) {
  const IntervalPlan& interval = plan.saving.interval;
  // An epoch has an update at least; of a stream nobody knows how many.
  if (interval.strategy == "epoch") return std::min(plan.steps.epochs, plan.steps.max_steps);
  if (interval.strategy == "best") return 1;
  if (interval.strategy != "steps" || plan.steps.max_steps <= 0) return 0;
  if (interval.steps <= 0) return 1;  // the last update saves, too
  return (plan.steps.max_steps + interval.steps - 1) / interval.steps;
}

// Always in GiB, so that what is needed and what is there can be compared at a glance.
std::string gib(int64_t count) {
  const double amount = static_cast<double>(std::max<int64_t>(count, 0)) / static_cast<double>(1 << 30);
  char text[32];
  std::snprintf(text, sizeof(text), amount < 1 ? "%.3f GiB" : "%.1f GiB", amount);
  return text;
}

// `where` is the memory that does not do: of a machine, or of a GPU.
Diagnostic too_large(const std::string& what, const std::string& where, const std::string& why,
                     const std::string& hint) {
  return {Diagnostic::Severity::kError, what, where, why, hint};
}

// What certainly must be there, in this rank's memory and in the machine's.
struct NeededMemory {
  int64_t device = 0;  // 0 on the CPU
  int64_t machine = 0;
};

NeededMemory needed_memory(const RunPlan& plan) {
  const MemoryPlan& memory = plan.memory_per_rank;
  const int64_t state = memory.parameters + memory.gradients + memory.optimizer;
  const bool gpu = on_gpu(plan.ranks);
  return {gpu ? state - memory.host : 0,
          (kProgramBytes + (gpu ? memory.host : state)) * plan.ranks.ranks_on_machine +
              background_copies(plan).machine};
}

// What a rank needs by kind, for the reason of a refusal.
std::string needs_by_kind(const MemoryPlan& memory) {
  return "parameters " + gib(memory.parameters) + ", gradients " + gib(memory.gradients) + ", optimizer " +
         gib(memory.optimizer);
}

// Of a rank on the host; what it has on a GPU is counted there.
std::string needs_of_host(const MemoryPlan& memory, bool gpu, int64_t program_bytes) {
  const std::string program = "the program itself " + gib(program_bytes) + ", ";
  return program + (gpu ? "offloaded state " + gib(memory.host) : needs_by_kind(memory));
}

// A plan for machines that are not this one is refused for what a run there would end with.
ExitCode code_of(const ResolveInput& input, ExitCode of_a_run) {
  return input.elsewhere ? ExitCode::kUsage : of_a_run;
}

void check_host_memory(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  const int64_t host = input.topology.host.usable_memory_bytes(), needed = needed_memory(plan).machine;
  if (host <= 0 || needed <= host) return;
  const int64_t copied = background_copies(plan).machine;
  const std::string copies = copied > 0 ? "; --async_save keeps copies of " + gib(copied) : "";
  problems.add(
      code_of(input, ExitCode::kHostMemory),
      too_large("the model and its training state need " + gib(needed) + " of host memory, of " + gib(host),
                input.elsewhere ? "--machines" : "the host memory of this machine",
                needs_of_host(plan.memory_per_rank, on_gpu(plan.ranks), kProgramBytes) + ", for each of " +
                    std::to_string(plan.ranks.ranks_on_machine) + " ranks" + copies,
                plan.strategy.sharded()
                    ? "a smaller model, or offload to NVMe"
                    : "a smaller model, fewer ranks, or --fsdp \"full_shard auto_wrap\""));
}

void check_device_memory(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  const int64_t needed = needed_memory(plan).device;
  for (const RankPlan& rank : plan.ranks.ranks) {
    const VisibleDevices& visible = topology_of(input, rank).visible;
    const CudaDevice& device = visible.devices[static_cast<size_t>(rank.ordinal)].device;
    if (device.total_bytes <= 0 || needed <= device.total_bytes) continue;
    problems.add(code_of(input, ExitCode::kDeviceMemory),
                 too_large("the model and its training state need " + gib(needed) + ", and GPU " +
                               std::to_string(device.index) + " has " + gib(device.total_bytes),
                           input.elsewhere ? "--machines" : "rank " + std::to_string(rank.rank),
                           needs_by_kind(plan.memory_per_rank),
                           plan.strategy.sharded()
                               ? "a smaller model, more GPUs, or offload: --fsdp \"full_shard offload\""
                               : "a smaller model, or --fsdp \"full_shard auto_wrap\""));
    return;
  }
}

// Of machines that are not this one nobody can try whether an estimate holds, so one that is far beyond what
// is there is refused.
void check_expected_memory(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  constexpr double kFarBeyond = 1.1;
  const MemoryPlan& memory = plan.memory_per_rank;
  const bool gpu = on_gpu(plan.ranks);
  const int64_t there =
      gpu ? input.topology.visible.devices.front().device.total_bytes
          : input.topology.host.usable_memory_bytes() / std::max(1, plan.ranks.ranks_on_machine);
  const int64_t expected = expected_memory(plan).rank;
  if (there <= 0 || static_cast<double>(expected) <= kFarBeyond * static_cast<double>(there)) return;
  problems.add(ExitCode::kUsage,
               too_large("a rank is expected to need " + gib(expected) + ", and " +
                             (gpu ? "a GPU has " : "its part of the machine is ") + gib(there),
                         "--machines",
                         (gpu ? needs_by_kind(memory) : needs_of_host(memory, false, kWorkingProgramBytes)) +
                             ", activations " + gib(memory.activations) + ", buffers " + gib(memory.buffers),
                         way_to_need_less(plan.ranks)));
}

void check_memory(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  check_host_memory(input, plan, problems);
  if (on_gpu(plan.ranks)) check_device_memory(input, plan, problems);
  if (input.elsewhere && problems.none()) check_expected_memory(input, plan, problems);
}

// Offloaded state of a machine's ranks that lies on one disk.
struct OffloadedState {
  std::vector<std::string> folders, kinds;
  int64_t bytes = 0;
  DiskSpace disk;
};

// By file system: parameters and the optimizer may have two folders, on one disk or on two.
std::vector<OffloadedState> offloaded_by_disk(const ResolveInput& input, const RunPlan& plan) {
  const RankMemory rank = rank_memory(running_architecture(input)->parameters(), plan);
  const NvmePlan& nvme = plan.strategy.nvme;
  std::vector<OffloadedState> all;
  const auto add = [&](const std::string& folder, const char* kind, int64_t bytes_of_rank,
                       const std::optional<DiskSpace>& disk) {
    if (folder.empty() || !disk || bytes_of_rank == 0) return;  // one rank alone keeps its parameters whole
    auto found = std::find_if(all.begin(), all.end(), [&](const OffloadedState& other) {
      return other.disk.file_system == disk->file_system && other.disk.folder_error == disk->folder_error;
    });
    if (found == all.end()) found = all.insert(found, OffloadedState{{}, {}, 0, *disk});
    if (found->folders.empty() || found->folders.back() != folder) found->folders.push_back(folder);
    const int64_t bytes = bytes_of_rank * plan.ranks.ranks_on_machine;
    found->kinds.push_back(kind + (" " + bytes_text(bytes)));
    found->bytes += bytes;
  };
  add(nvme.parameters_path, "parameters", rank.parameters_on_nvme, input.parameters_disk);
  add(nvme.optimizer_path, "optimizer", rank.optimizer_on_nvme, input.optimizer_disk);
  return all;
}

void check_nvme(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  if (plan.disk.nvme_bytes == 0) return;
  for (const OffloadedState& state : offloaded_by_disk(input, plan)) {
    if (state.disk.folder_error != 0) {
      problems.add(ExitCode::kDisk,
                   {Diagnostic::Severity::kError, "no offloaded state can be kept there",
                    join(state.folders, ", "), std::strerror(state.disk.folder_error), "another nvme_path"});
      continue;
    }
    if (state.bytes <= static_cast<int64_t>(state.disk.free_bytes)) continue;
    problems.add(ExitCode::kDisk, {Diagnostic::Severity::kError,
                                   "the offloaded state does not fit on the disk", join(state.folders, ", "),
                                   "it takes " + bytes_text(state.bytes) + " (" + join(state.kinds, ", ") +
                                       "), and " + format_bytes(state.disk.free_bytes) + " are free",
                                   "free space, or another nvme_path"});
  }
}

}  // namespace

MemoryPlan estimate_memory(const architectures::Architecture& architecture, const RunPlan& plan,
                           bool widens_bfloat16) {
  const RankMemory bytes = rank_memory(architecture.parameters(), plan);
  MemoryPlan memory;
  memory.parameters = bytes.parameters;
  memory.gradients = bytes.gradients;
  memory.optimizer = bytes.optimizer;
  memory.buffers = bytes.gathered + bytes.nvme_staging;
  memory.host = bytes.on_host;
  memory.saving = bytes.saving;
  if (plan.do_train) memory.activations = activation_bytes(architecture, plan, widens(plan, widens_bfloat16));
  memory.evaluation = evaluation_bytes(architecture, plan);
  memory.total = memory.parameters + memory.gradients + memory.optimizer +
                 std::max(memory.activations, memory.evaluation) + memory.buffers;
  return memory;
}

DiskPlan estimate_disk(const architectures::Architecture& architecture, const RunPlan& plan,
                       std::optional<uint64_t> free_bytes) {
  const architectures::ParameterTable& table = architecture.parameters();
  DiskPlan disk;
  disk.free_bytes = free_bytes ? static_cast<int64_t>(*free_bytes) : -1;
  const RankMemory rank = rank_memory(table, plan);
  disk.nvme_bytes = (rank.parameters_on_nvme + rank.optimizer_on_nvme) * plan.ranks.ranks_on_machine;
  const int64_t weights = weights_bytes(table, plan);
  // In our form and, where asked for, in the Trainer's.
  const int64_t optimizer = whole_optimizer_bytes(table, plan) * (plan.saving.for_trainer ? 2 : 1);
  disk.checkpoint_bytes = weights + (plan.saving.only_model ? 0 : optimizer);
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
  const int64_t least =
      saves ? plan.disk.checkpoint_bytes : weights_bytes(running_architecture(input)->parameters(), plan);
  if (plan.disk.free_bytes >= 0 && least > plan.disk.free_bytes) {
    problems.add(ExitCode::kDisk,
                 {Diagnostic::Severity::kError,
                  saves ? "not one checkpoint fits on the disk" : "the model does not fit on the disk",
                  plan.output_dir,
                  "it takes " + bytes_text(least) + ", and " + bytes_text(plan.disk.free_bytes) + " are free",
                  "free space, or another --output_dir"});
  }
}

}  // namespace hftrain::plan

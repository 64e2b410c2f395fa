#include <cstdio>

#include "hftrain/base/text.h"
#include "hftrain/plan/describe.h"
#include "hftrain/plan/rank_memory.h"
#include "hftrain/plan/rehearsed.h"
#include "hftrain/plan/text_table.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::plan {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// A number as a person would write it.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

std::string counted(int64_t count, const std::string& noun) {
  return with_thousands(count) + ' ' + noun + (count == 1 ? "" : "s");
}

const CudaDevice* device_of(const RankPlan& rank, const Topology& topology) {
  const auto ordinal = static_cast<size_t>(rank.ordinal);
  if (rank.ordinal < 0 || ordinal >= topology.visible.devices.size()) return nullptr;
  return &topology.visible.devices[ordinal].device;
}

std::string device_table(const RunPlan& plan, const Topology& topology) {
  Rows rows = {{"rank", "local rank", "position", "PCI index", "UUID", "name", "free", "total", "threads"}};
  for (const RankPlan& rank : plan.ranks.ranks) {
    const CudaDevice* device = device_of(rank, topology);
    std::vector<std::string> row = {std::to_string(rank.rank), std::to_string(rank.local_rank)};
    if (device != nullptr) {
      const std::string unsure = topology.visible.order_known ? "" : "?";
      row.insert(row.end(), {std::to_string(rank.ordinal), std::to_string(device->index) + unsure,
                             rank.device_uuid.empty() ? "-" : rank.device_uuid, rank.device_name,
                             bytes_text(device->free_bytes), bytes_text(device->total_bytes)});
    } else {
      row.insert(row.end(), {"-", "-", "-", "cpu", bytes_text(topology.host.available_bytes),
                             bytes_text(topology.host.usable_memory_bytes())});
    }
    row.push_back(std::to_string(rank.threads));
    rows.push_back(std::move(row));
  }
  return format_table(rows, 2);
}

std::string ranks_text(const RanksPlan& ranks) {
  std::string text = counted(ranks.world_size, "rank") + " on " + counted(ranks.nodes, "node");
  if (ranks.world_size == 1) return text + ", no communication";
  return text + ", " + ranks.backend + ", deadline of collectives " +
         format_duration(static_cast<double>(ranks.timeout_seconds));
}

std::vector<std::string> unit_names(const StrategyPlan& strategy) {
  std::vector<std::string> names;
  for (const UnitPlan& unit : strategy.units) names.push_back(unit.name);
  return names;
}

std::string strategy_text(const RunPlan& plan) {
  const StrategyPlan& strategy = plan.strategy;
  std::string text = strategy.name + ", ZeRO stage " + std::to_string(strategy.stage) + ", mesh " +
                     std::to_string(strategy.mesh_replicate) + " x " + std::to_string(strategy.mesh_shard) +
                     " (replicate x shard), offload of parameters " + strategy.offload_parameters +
                     ", of optimizer " + strategy.offload_optimizer;
  if (strategy.sharded()) {
    text += ", gradients reduced in " + strategy.reduce_dtype + ", " +
            (plan.model.adapter ? "an adapter saved whole" : strategy.state_dict + " state dict");
  }
  if (strategy.name == "ddp") text += ", buckets of " + std::to_string(strategy.bucket_cap_mb) + " MiB";
  return text;
}

// What the units of one stack have in common in their names, "block" of "block.3"; empty for others.
std::string stack_of(const UnitPlan& unit) {
  const size_t point = unit.name.rfind('.');
  return point == std::string::npos ? "" : unit.name.substr(0, point);
}

// "14: embeddings 39,383,808, block.0 to block.11 7,087,872 each, head 1,536; 12 freed after forward".
std::string units_text(const StrategyPlan& strategy) {
  const std::vector<UnitPlan>& units = strategy.units;
  std::vector<std::string> parts;
  int64_t freed = 0;
  for (size_t first = 0, last = 0; first < units.size(); first = last) {
    const auto alike = [&](const UnitPlan& unit) {
      return !stack_of(unit).empty() && stack_of(unit) == stack_of(units[first]) &&
             unit.numbers == units[first].numbers;
    };
    for (last = first + 1; last < units.size() && alike(units[last]);) ++last;
    const std::string size = with_thousands(units[first].numbers);
    parts.push_back(last == first + 1
                        ? units[first].name + ' ' + size
                        : units[first].name + " to " + units[last - 1].name + ' ' + size + " each");
    for (size_t i = first; i < last; ++i) freed += units[i].reshard_after_forward ? 1 : 0;
  }
  std::string text = std::to_string(units.size()) + ": " + join(parts, ", ");
  if (strategy.stage == 3) text += "; " + std::to_string(freed) + " freed after forward";
  return text;
}

std::string model_text(const ModelPlan& model) {
  std::string text = model.model_type + ", " +
                     (model.source_folder.empty() ? "from scratch" : "weights from " + model.source_folder) +
                     ", " + with_thousands(model.parameters) + " parameters in " + model.master_dtype;
  if (model.trainable_parameters != model.parameters) {
    text += " (" + with_thousands(model.trainable_parameters) + " trained)";
  }
  if (model.gradient_checkpointing) {
    text += ", activations recomputed every " + counted(model.checkpoint_every_n_layers, "layer");
  }
  return text;
}

// Of GPUs, whose kernels are chosen with more care than a processor's.
std::string kernels_text(const FusedKernels& fused) {
  return std::string(fused.own ? "this program's own where the CUDA plug-in has them"
                               : "LibTorch's; --use_liger_kernel takes this program's own, which have no "
                                 "figure in the benchmarks yet") +
         "; each launched by itself, no CUDA graph";
}

std::string precision_text(const PrecisionPlan& precision) {
  std::string text = "forward in " + precision.compute;
  if (precision.gradient_scaler)
    text += precision.loss_scale.dynamic ? " with loss scaling" : " with a fixed loss scale";
  if (precision.tf32) text += *precision.tf32 ? ", TensorFloat-32 allowed" : ", no TensorFloat-32";
  if (!precision.eval.empty()) text += ", evaluation in " + precision.eval;
  return text;
}

std::string split_text(const std::string& name, const std::optional<SplitPlan>& split, bool images) {
  if (!split || (split->samples == 0 && !split->exact)) return name + " not prepared yet";
  const std::string count = name + (split->exact ? " " : " about ") + counted(split->samples, "sample");
  return images ? count : count + " (" + counted(split->tokens, "token") + ")";
}

std::string stream_text(const data::StreamSpec& stream) {
  uint64_t bytes = 0;
  for (const data::FileStamp& file : stream.files) bytes += file.bytes;
  std::string text = "training rows streamed from " +
                     counted(static_cast<int64_t>(stream.files.size()), "file") + " (" + format_bytes(bytes) +
                     "), none of them prepared or cached";
  if (stream.hold_out_percent > 0)
    text += ", without the first " + std::to_string(stream.hold_out_percent) + " of every hundred";
  if (stream.max_samples) text += ", " + counted(*stream.max_samples, "sample") + " an epoch at most";
  return text;
}

// Who reads a stream, and in which order.
std::string stream_order_text(const RunPlan& plan) {
  const std::string order = "in the order of the files";
  if (plan.ranks.world_size == 1) return order;
  if (plan.data.dispatch_batches) return order + ", read by rank 0, which sends every rank its batches";
  if (plan.data.stream->by_files) return order + ", every rank reading files of its own";
  return order + ", every rank reading all of them and taking its batches";
}

std::string length_text(const DataPlan& data) {
  const std::string tokens = with_thousands(data.block_size) + " tokens";
  if (data.preprocessor) {
    return "images of " + std::to_string(data.preprocessor->height) + " by " +
           std::to_string(data.preprocessor->width) + " pixels, " + tokens + " each";
  }
  return (data.padding.columns.empty() ? "blocks of " : "samples of at most ") + tokens;
}

std::string data_text(const RunPlan& plan) {
  const DataPlan& data = plan.data;
  const bool images = data.preprocessor.has_value();
  std::vector<std::string> parts = {std::string(tasks::row_of(data.task).name), length_text(data)};
  if (plan.do_train)
    parts.push_back(data.stream ? stream_text(*data.stream) : split_text("training", data.train, images));
  if (plan.do_eval || plan.evaluation.on_start)
    parts.push_back(split_text("validation", data.validation, images));
  if (plan.do_predict) parts.push_back(split_text("test", data.test, images));
  if (data.validation_mismatched)
    parts.push_back(split_text("mismatched validation", data.validation_mismatched, images));
  if (data.test_mismatched) parts.push_back(split_text("mismatched test", data.test_mismatched, images));
  parts.push_back(data.stream ? stream_order_text(plan)
                              : data.sampling + " order, seed " + std::to_string(data.seed));
  return join(parts, ", ");
}

std::string batch_text(const RunPlan& plan) {
  const BatchPlan& batch = plan.batch;
  const std::string ranks = plan.data.split_batches ? "" : " x " + counted(plan.ranks.world_size, "rank");
  return with_thousands(batch.per_device_train) + (plan.data.split_batches ? " for all ranks" : " per rank") +
         " x " + std::to_string(batch.accumulation_steps) + " accumulated" + ranks + " = " +
         counted(batch.global_train, "sample") + " per update; evaluation " +
         with_thousands(batch.per_device_eval) + (plan.data.split_batches ? " for all ranks" : " per rank");
}

// Of a rough figure: whole hours, or minutes.
std::string time_text(double seconds) {
  constexpr double kMinute = 60, kHour = 3600;
  if (seconds < kMinute) return "";
  const bool hours = seconds >= 2 * kHour;
  const auto amount = static_cast<int64_t>(seconds / (hours ? kHour : kMinute) + 0.5);
  return "; in the order of " + counted(amount, hours ? "hour" : "minute");
}

std::string steps_text(const StepsPlan& steps) {
  if (steps.max_steps == 0 && steps.batches_per_epoch == 0) {
    return "number of updates unknown until the data are prepared (" + number(steps.num_train_epochs) +
           " epochs)";
  }
  std::string text = counted(steps.max_steps, "update");
  if (steps.epochs == kEndlessEpochs)
    return text + "; how many epochs that is shows when the stream ends" + time_text(steps.expected_seconds);
  if (steps.batches_per_epoch == 0)
    return text + ", epochs unknown until the data are prepared" + time_text(steps.expected_seconds);
  return text + " in " + counted(steps.epochs, "epoch") + "; " + with_thousands(steps.batches_per_epoch) +
         " batches per rank and epoch, " + with_thousands(steps.updates_per_epoch) + " updates per epoch" +
         time_text(steps.expected_seconds);
}

std::string optimizer_text(const OptimizerPlan& optimizer) {
  return optimizer.name + ", rate " + number(optimizer.learning_rate) + ", weight decay " +
         number(optimizer.weight_decay) +
         (optimizer.decays_all && optimizer.weight_decay != 0 ? " (norms and biases, too), " : ", ") +
         (optimizer.max_grad_norm > 0 ? "gradients clipped to norm " + number(optimizer.max_grad_norm)
                                      : "no clipping");
}

std::string schedule_text(const SchedulePlan& schedule) {
  std::string text = schedule.name + ", " + counted(schedule.warmup_steps, "warm-up update");
  if (!schedule.options.empty()) text += ", " + dump_json(schedule.options, -1);
  return text;
}

std::string interval_text(const IntervalPlan& interval) {
  if (interval.strategy == "no") return "never";
  if (interval.strategy == "best") return "at each new best";
  if (interval.strategy == "epoch") return "after every epoch";
  return interval.steps > 0 ? "every " + counted(interval.steps, "update")
                            : "by a share of the updates, unknown yet";
}

std::string evaluation_text(const RunPlan& plan) {
  std::string text = interval_text(plan.evaluation.interval);
  if (plan.evaluation.at_end) text += ", and at the end";
  const Json& written = plan.evaluation.generation;
  if (!written.is_null()) {
    const char* limit = written.contains("max_length") ? "max_length" : "max_new_tokens";
    text += ", writes texts of at most " + counted(written.at(limit).get<int64_t>(), "token") + " with " +
            counted(written.at("num_beams").get<int64_t>(), "beam");
  }
  if (!plan.evaluation.metric_for_best_model.empty())
    text += ", best by " + plan.evaluation.metric_for_best_model;
  if (plan.evaluation.early_stopping_patience) {
    text += ", stops after " + counted(*plan.evaluation.early_stopping_patience, "evaluation") +
            " without a new best";
  }
  return text;
}

std::string memory_text(const RunPlan& plan) {
  const MemoryPlan& memory = plan.memory_per_rank;
  std::string text =
      "parameters " + bytes_text(memory.parameters) + ", gradients " + bytes_text(memory.gradients) +
      ", optimizer " + bytes_text(memory.optimizer) + ", activations about " +
      bytes_text(memory.activations) + ", buffers " + bytes_text(memory.buffers) +
      (memory.evaluation > 0
           ? ", an evaluation about " + bytes_text(memory.evaluation) + " in the place of activations"
           : "") +
      (memory.reused > 0 ? ", " + bytes_text(memory.reused) + " of it gradients in the place of others"
                         : "") +
      "; in all about " + bytes_text(memory.total) + " per rank";
  if (memory.host > 0) text += ", of which " + bytes_text(memory.host) + " in host memory";
  if (memory.saving > 0) {
    text += plan.saving.asynchronous ? "; saving in the background keeps " + bytes_text(memory.saving) +
                                           " more of host memory on rank 0"
                                     : "; a save takes " + bytes_text(memory.saving) + " more on rank 0";
  }
  const BackgroundCopies copies = background_copies(plan);
  if (copies.other > 0) text += ", " + bytes_text(copies.other) + " on every other";
  return text;
}

std::string host_text(const RunPlan& plan, const HostResources& host) {
  const int64_t needed = expected_memory(plan).machine + background_copies(plan).machine;
  const bool known = host.memory_bytes > 0;
  return "about " + bytes_text(needed) +
         (known ? " of " + bytes_text(host.available_bytes) + " free memory, " : " of memory, ") +
         counted(host.usable_cores(), "core");
}

std::string disk_text(const RunPlan& plan) {
  const DiskPlan& disk = plan.disk;
  std::string text = bytes_text(disk.checkpoint_bytes) + " a checkpoint";
  if (disk.checkpoints_kept > 0) text += ", at most " + std::to_string(disk.checkpoints_kept) + " at a time";
  if (disk.checkpoints_kept < 0) text += ", all are kept";
  text += "; about " + bytes_text(disk.needed_bytes) + " needed";
  if (disk.free_bytes >= 0) text += ", " + bytes_text(disk.free_bytes) + " free";
  if (disk.nvme_bytes > 0) text += "; offloaded state of " + bytes_text(disk.nvme_bytes);
  return text;
}

std::string saving_text(const RunPlan& plan) {
  const SavingPlan& saving = plan.saving;
  // save_steps 0: a share of updates that are known has an update at least.
  const bool at_end =
      saving.interval.strategy == "steps" && saving.interval.steps <= 0 && plan.steps.max_steps > 0;
  std::string text = at_end ? "after the last update" : interval_text(saving.interval);
  if (saving.interval.strategy != "no") {
    text += saving.total_limit ? ", the newest " + std::to_string(*saving.total_limit) + " are kept"
                               : ", all are kept";
  }
  if (saving.only_model) text += ", without optimizer state";
  if (saving.for_trainer) text += ", with the Trainer's files";
  return saving.asynchronous ? text + ", in the background" : text;
}

std::string files_text(const RunPlan& plan) {
  std::vector<std::string> parts = {plan.output_dir,
                                    "hftrain/{plan.json, arguments.yaml, log.jsonl, summary.json, ranks/}"};
  if (plan.saving.interval.strategy != "no" && plan.do_train) parts.emplace_back("checkpoint-N/");
  for (const std::string& tracker : plan.logging.report_to) {
    parts.push_back(tracker == "tensorboard" ? "TensorBoard in " + plan.logging.tensorboard_dir : tracker);
  }
  return join(parts, ", ");
}

std::string action_text(const RunPlan& plan) {
  std::vector<std::string> parts;
  if (plan.do_train) parts.emplace_back("train");
  if (plan.do_eval) parts.emplace_back("evaluate");
  if (plan.do_predict) parts.emplace_back("predict");
  return join(parts, ", ");
}

std::string worker_table(const std::vector<WorkerCommand>& workers) {
  std::string text;
  for (const WorkerCommand& worker : workers) {
    text += "  " + std::to_string(worker.rank) + ":";
    for (const auto& [name, value] : worker.environment) text += ' ' + name + '=' + value;
    text += "\n     " + join(worker.argv, " ") + '\n';
  }
  return text;
}

Json device_list(const RunPlan& plan, const Topology& topology) {
  Json devices = Json::array();
  for (const RankPlan& rank : plan.ranks.ranks) {
    Json entry = {{"rank", rank.rank},       {"local_rank", rank.local_rank},
                  {"node", rank.node},       {"kind", rank.device == DeviceKind::kCuda ? "cuda" : "cpu"},
                  {"threads", rank.threads}, {"name", rank.device_name}};
    if (const CudaDevice* device = device_of(rank, topology)) {
      entry["position"] = rank.ordinal;
      entry["index"] = device->index;
      entry["uuid"] = rank.device_uuid;
      entry["pci_bus_id"] = device->pci_bus_id;
      entry["free_bytes"] = device->free_bytes;
      entry["total_bytes"] = device->total_bytes;
    } else {
      entry["free_bytes"] = topology.host.available_bytes;
      entry["total_bytes"] = topology.host.usable_memory_bytes();
    }
    devices.push_back(std::move(entry));
  }
  return devices;
}

Json strategy_document(const StrategyPlan& strategy) {
  return {
      {"name", strategy.name},
      {"stage", strategy.stage},
      {"mesh", {{"replicate", strategy.mesh_replicate}, {"shard", strategy.mesh_shard}}},
      {"offload", {{"parameters", strategy.offload_parameters}, {"optimizer", strategy.offload_optimizer}}},
      {"units", unit_names(strategy)},
      {"bucket_cap_mb", strategy.bucket_cap_mb},
      {"find_unused_parameters", strategy.find_unused_parameters},
      {"static_graph", strategy.static_graph}};
}

}  // namespace

std::string describe_plan(const RunPlan& plan, const Topology& topology,
                          const std::vector<WorkerCommand>& workers) {
  Rows rows = {{"run", action_text(plan)},        {"ranks", ranks_text(plan.ranks)},
               {"strategy", strategy_text(plan)}, {"units", units_text(plan.strategy)},
               {"model", model_text(plan.model)}, {"precision", precision_text(plan.precision)}};
  if (plan.ranks.ranks.front().device == DeviceKind::kCuda)
    rows.push_back({"kernels", kernels_text(plan.model.fused_kernels)});
  rows.push_back({"data", data_text(plan)});
  if (plan.do_train) {
    rows.insert(rows.end(), {{"batch", batch_text(plan)},
                             {"steps", steps_text(plan.steps)},
                             {"optimizer", optimizer_text(plan.optimizer)},
                             {"schedule", schedule_text(plan.schedule)},
                             {"logging", interval_text(plan.logging.interval)},
                             {"evaluation", evaluation_text(plan)},
                             {"saving", saving_text(plan)}});
    if (plan.rehearse) rows.push_back({"rehearsal", describe(rehearsed(plan)) + " before the first update"});
  }
  if (plan.plugin) rows.push_back({"plug-in", plan.plugin->name + ", " + plan.plugin->path});
  rows.insert(rows.end(), {{"memory", memory_text(plan)},
                           {"host", host_text(plan, topology.host)},
                           {"disk", disk_text(plan)},
                           {"files", files_text(plan)},
                           {"resume", plan.saving.resume_from.empty() ? "fresh start"
                                                                      : "from " + plan.saving.resume_from}});
  std::string text = "devices\n" + device_table(plan, topology);
  for (const std::string& note : topology.visible.notes) text += "  " + note + '\n';
  return text + format_table(rows) + "workers\n" + worker_table(workers);
}

Json plan_document(const RunPlan& plan, const Topology& topology, const std::vector<WorkerCommand>& workers) {
  Json document = to_json_value(plan);  // the parts that are the same in both
  document["world_size"] = plan.ranks.world_size;
  document["ranks"] = {{"nodes", plan.ranks.nodes},
                       {"machines", plan.ranks.machines},
                       {"local_world_size", plan.ranks.local_world_size},
                       {"ranks_on_machine", plan.ranks.ranks_on_machine},
                       {"backend", plan.ranks.backend},
                       {"timeout_seconds", plan.ranks.timeout_seconds}};
  document["devices"] = device_list(plan, topology);
  if (plan.disk.free_bytes < 0) document["disk"]["free_bytes"] = nullptr;
  document["strategy"] = strategy_document(plan.strategy);
  document["resume"] = plan.saving.resume_from.empty() ? Json() : Json(plan.saving.resume_from);
  document["workers"] = Json::array();
  for (const WorkerCommand& worker : workers) {
    document["workers"].push_back(
        {{"rank", worker.rank}, {"argv", worker.argv}, {"env", worker.environment}});
  }
  return document;
}

}  // namespace hftrain::plan

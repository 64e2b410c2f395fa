// The RunPlan as JSON, one line per struct: a member that is added to run_plan.h is added to its line here.
#include "hftrain/base/error.h"
#include "hftrain/base/hash.h"
#include "hftrain/base/json_words.h"
#include "hftrain/plan/identity.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::tasks {

void to_json(Json& value, const Task& task) {
  value = row_of(task).name;
}

void from_json(const Json& value, Task& task) {
  const std::optional<Task> named = task_named(value.get<std::string>());
  if (!named) throw Error(ExitCode::kInternal, "not a run plan").why("there is no task " + value.dump());
  task = *named;
}

NLOHMANN_JSON_SERIALIZE_ENUM(OutputForm, {{OutputForm::kLossOnly, "loss"},
                                          {OutputForm::kBestIds, "best_ids"},
                                          {OutputForm::kScores, "scores"},
                                          {OutputForm::kTexts, "texts"}})

}  // namespace hftrain::tasks

namespace hftrain::architectures {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AdapterSpec, rank, alpha, dropout, rank_stabilised, targets, saved_modules,
                                   tied_as_one, peft_ties, origin)

}  // namespace hftrain::architectures

namespace hftrain::images {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Preprocessor, height, width, keeps_proportions, mean, deviation)

}  // namespace hftrain::images

namespace hftrain::data {

using PaddedForm = PaddedColumn::Form;
NLOHMANN_JSON_SERIALIZE_ENUM(PaddedForm, {{PaddedForm::kSequence, "sequence"},
                                          {PaddedForm::kMask, "mask"},
                                          {PaddedForm::kScalar, "scalar"},
                                          {PaddedForm::kVector, "vector"},
                                          {PaddedForm::kPlace, "place"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PaddedColumn, tensor, column, form, pad, own_length)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PaddingOptions, columns, length, multiple, on_left)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MaskingOptions, probability, mask_id, vocabulary, whole_words)
NLOHMANN_JSON_SERIALIZE_ENUM(RowFormat, {{RowFormat::kText, "text"},
                                         {RowFormat::kJsonLines, "json lines"},
                                         {RowFormat::kJson, "json"},
                                         {RowFormat::kCsv, "csv"},
                                         {RowFormat::kTsv, "tsv"},
                                         {RowFormat::kImageFolder, "image folder"},
                                         {RowFormat::kLinePairs, "line pairs"},
                                         {RowFormat::kParquet, "parquet"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FileStamp, path, format, bytes, modified_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SettledColumns, file, names)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StreamSpec, files, recipe, read, columns, tokenizer_folder,
                                   keep_linebreaks, hold_out_percent, max_samples, block_size, threads,
                                   by_files, identity)

}  // namespace hftrain::data

namespace hftrain::plan {

NLOHMANN_JSON_SERIALIZE_ENUM(DeviceKind, {{DeviceKind::kCpu, "cpu"}, {DeviceKind::kCuda, "cuda"}})

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankPlan, rank, local_rank, node, agent, local_world_size,
                                   ranks_on_machine, device, ordinal, device_name, device_uuid, threads)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RanksPlan, world_size, local_world_size, nodes, ranks_on_machine, machines,
                                   backend, timeout_seconds, ranks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(UnitPlan, name, parameters, reshard_after_forward, numbers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NvmePlan, parameters_path, optimizer_path, block_bytes, queue_depth,
                                   buffer_bytes, buffer_count, pipeline_read, pipeline_write)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StrategyPlan, name, stage, mesh_replicate, mesh_shard, offload_parameters,
                                   offload_optimizer, nvme, units, backward_prefetch, forward_prefetch,
                                   limit_all_gathers, reduce_dtype, state_dict, full_parameter_limit, ignored,
                                   find_unused_parameters, static_graph, bucket_cap_mb)
NLOHMANN_JSON_SERIALIZE_ENUM(GrowthKind, {{GrowthKind::kTokens, "tokens"},
                                          {GrowthKind::kPositions, "positions"},
                                          {GrowthKind::kZeros, "zeros"},
                                          {GrowthKind::kMean, "mean"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GrownParameter, name, shape_before, kind)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AdapterPlan, spec, folder, config)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FusedKernels, rope, swiglu, geglu, rms_norm, loss, rest, own)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModelPlan, source_folder, hub_name, weights_mark, model_type, config,
                                   generation_config, preprocessor_config, tokenizer_folder,
                                   tokenizer_settings, chat_template, master_dtype, tied_dtype, parameters,
                                   trainable_parameters, non_embedding_parameters, gradient_checkpointing,
                                   checkpoint_every_n_layers, checkpoint_offload, neftune_noise_alpha,
                                   fused_kernels, ignore_mismatched_sizes, grown, frozen, adapter)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LossScalePlan, initial, dynamic, growth_interval, hysteresis, refill,
                                   minimum)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PrecisionPlan, compute, gradient_scaler, loss_scale, tf32, eval)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SplitPlan, cache_path, samples, tokens, exact, columns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DataPlan, task, dataset_name, block_size, target_size, preprocessor,
                                   padding, masking, joins_samples, stream, train, training_key, validation,
                                   test, validation_mismatched, test_mismatched, seed, sampling, drop_last,
                                   even_batches, split_batches, dispatch_batches, seedable_sampler,
                                   loader_workers, prefetch_factor, pin_memory, ignore_data_skip)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BatchPlan, per_device_train, per_device_eval, accumulation_steps,
                                   global_train, average_tokens_across_devices, sync_each_batch)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepsPlan, batches_per_epoch, updates_per_epoch, max_steps, epochs,
                                   limited_by_steps, num_train_epochs, samples_for_speed, expected_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptimizerPlan, name, learning_rate, weight_decay, decays_all, beta1, beta2,
                                   epsilon, max_grad_norm, label_smoothing, loss_by_probability, options)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SchedulePlan, name, warmup_steps, options)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IntervalPlan, strategy, steps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LoggingPlan, interval, first_step, nan_inf_filter, report_to,
                                   tensorboard_dir, run_name, project, count_input_tokens, memory_metrics,
                                   level, replica_level, on_each_node, arguments_json)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EvaluationPlan, interval, delay, on_start, at_end, metric_for_best_model,
                                   greater_is_better, load_best_at_end, early_stopping_patience,
                                   early_stopping_threshold, outputs, scoring, label_columns, gives_inputs,
                                   gives_losses, accumulation_steps, joins_batches, shows_running_metrics,
                                   kept_bytes, generation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SavingPlan, interval, total_limit, only_model, for_trainer, asynchronous,
                                   resume_from, restore_callbacks, same_run, repository, further_nodes,
                                   max_shard_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MemoryPlan, parameters, gradients, optimizer, activations, buffers, total,
                                   evaluation, reused, host, saving)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DiskPlan, checkpoint_bytes, checkpoints_kept, needed_bytes, free_bytes,
                                   nvme_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProfilePlan, first, last)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PluginPlan, name, path, hash)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunPlan, schema, hftrain_version, output_dir, do_train, do_eval,
                                   do_predict, rehearse, seed, full_determinism, empty_cache_steps,
                                   detect_overflow, profile, plugin, release, ranks, strategy, model,
                                   precision, data, batch, steps, optimizer, schedule, logging, evaluation,
                                   saving, memory_per_rank, disk)

Json to_json_value(const RunPlan& plan) {
  return plan;
}

RunPlan run_plan_from_json(const Json& value, const std::string& origin) {
  try {
    const int schema = value.at("schema").get<int>();
    if (schema == kRunPlanSchema) return value.get<RunPlan>();
    throw Error(ExitCode::kInternal, "the plan has schema " + std::to_string(schema))
        .where(origin)
        .why("this program reads schema " + std::to_string(kRunPlanSchema));
  } catch (const Json::exception& error) {
    throw Error(ExitCode::kInternal, "not a run plan").where(origin).why(words_of(error));
  }
}

std::string plan_hash(const RunPlan& plan) {
  Json value = to_json_value(plan);
  value.erase("disk");                       // free space is a fact of one node at one time
  if (!plan.saving.further_nodes.empty()) {  // and where it has its output folder
    for (const char* own : {"/output_dir", "/logging/tensorboard_dir"})
      value.at(Json::json_pointer(own)) = "";
    const std::string& from = plan.saving.resume_from;
    value["saving"]["resume_from"] = from.substr(from.rfind('/') + 1);
  }
  // So is where it keeps its prepared data; their folder is named after the hash of the content.
  for (const char* split : {"train", "validation", "test", "validation_mismatched", "test_mismatched"}) {
    if (!value["data"][split].is_object()) continue;
    value["data"][split]["cache_path"] = cache_entry(value["data"][split]["cache_path"].get<std::string>());
  }
  return hash_bytes(dump_json(value, -1));
}

}  // namespace hftrain::plan

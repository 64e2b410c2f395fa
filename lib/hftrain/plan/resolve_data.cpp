#include <algorithm>

#include "hftrain/arguments/task_words.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/release_habits.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/plan/step_arithmetic.h"

namespace hftrain::plan {
namespace {

constexpr int64_t kLargestDefaultBlock = 1024;
constexpr int64_t kDefaultPrefetch = 2;

std::optional<SplitPlan> split_plan(const std::optional<SplitFacts>& facts) {
  if (!facts) return std::nullopt;
  return SplitPlan{facts->cache_path, facts->samples, facts->tokens, facts->exact, facts->columns};
}

EpochShape epoch_shape(const SplitPlan& split, int64_t batch_size, const RunPlan& plan) {
  return {split.samples,          batch_size,
          plan.ranks.world_size,  plan.data.drop_last,
          plan.data.even_batches, plan.data.split_batches};
}

// Of the training split; evaluation keeps batches of one size.
EpochShape training_shape(const SplitPlan& split, const BatchPlan& batch, const RunPlan& plan) {
  EpochShape shape = epoch_shape(split, batch.per_device_train, plan);
  if (plan.data.sampling == "batch_rebalance") shape.rebalanced = batch.accumulation_steps;
  shape.dispatched = plan.data.dispatch_batches;
  return shape;
}

// The sampler of the training data, by the word of plans.
std::string sampling_of(const ResolveInput& input, const DataPlan& data, Problems& problems) {
  const arguments::DataArguments& asked = input.parsed.arguments.data;
  const std::string& strategy = asked.train_sampling_strategy;
  const auto refuse = [&](const char* other, const std::string& why, const std::string& hint) {
    problems.usage("train_sampling_strategy " + strategy + " and " + other + " do not go together",
                   input.parsed.origins.describe("train_sampling_strategy"), why, hint);
  };
  if (strategy == "batch_rebalance" && data.split_batches)
    refuse("split_batches", "its micro-batches have different sizes, so there is no batch to split evenly",
           "leave split_batches out of --accelerator_config");
  if (!asked.sortish_sampler) return strategy;
  if (strategy == "random" || strategy == "sequential")
    return strategy == "random" ? "sortish" : "longest_first";
  refuse("sortish_sampler", "each of them is an order of its own", "one of the two");
  return strategy;
}

// Files of its own for each rank leave nothing to deal out; what counts rows from the first of them needs them together.
bool ranks_read_files(const data::StreamSpec& stream, const DataPlan& data, const RanksPlan& ranks) {
  return ranks.world_size > 1 && !data.dispatch_batches && !data.split_batches &&
         stream.files.size() >= static_cast<size_t>(ranks.world_size) && stream.hold_out_percent == 0 &&
         !stream.max_samples;
}

// Training data that are read while the run trains, in their order.
void take_stream(const data::StreamSpec& stream, const arguments::ParallelArguments& asked,
                 const RanksPlan& ranks, DataPlan& data) {
  const auto& accelerator = asked.accelerator_config;
  const bool dispatches = !accelerator || accelerator->dispatch_batches.value_or(true);
  data.dispatch_batches = dispatches && ranks.world_size > 1;
  data.stream = stream;
  data.stream->by_files = ranks_read_files(stream, data, ranks);
  data.train = SplitPlan{.samples = stream.max_samples.value_or(0), .columns = stream.columns};
  data.sampling = "sequential";
  data.seedable_sampler = true;
}

Diagnostic data_problem(const char* split, const std::string& why, const std::string& hint) {
  return {Diagnostic::Severity::kError, std::string("the ") + split + " data do not make a batch",
          std::string("the ") + split + " data", why, hint};
}

void check_split(const char* name, const std::optional<SplitPlan>& split, const EpochShape& shape,
                 const RunPlan& plan, Problems& problems) {
  if (!split || !split->exact) return;
  if (split->samples == 0) {
    const bool packs = plan.data.padding.columns.empty();
    problems.add(ExitCode::kData, packs ? data_problem(name,
                                                       "there is not one block of " +
                                                           std::to_string(plan.data.block_size) + " tokens",
                                                       "more text, or a smaller --block_size")
                                        : data_problem(name, "there is not one row", "files with rows"));
    return;
  }
  if (batches_per_epoch(shape) == 0) {
    problems.add(ExitCode::kData, data_problem(name,
                                               std::to_string(split->samples) +
                                                   " samples are less than one batch of every rank, and "
                                                   "dataloader_drop_last drops them",
                                               "a smaller batch, or --dataloader_drop_last false"));
  }
  if (!ranks_agree(shape)) {
    problems.usage(std::string("ranks would get different numbers of ") + name + " batches", "",
                   "even_batches is false and the batches do not divide by " +
                       std::to_string(plan.ranks.world_size) +
                       " ranks, which then wait for each other for ever",
                   "--dataloader_drop_last, or even_batches true in --accelerator_config");
  }
}

// What helps besides fewer tokens.
std::string or_more(const architectures::Architecture& model) {
  return model.learned_positions() ? ", or --resize_position_embeddings" : "";
}

void check_block(const ResolveInput& input, int64_t block, Problems& problems) {
  const int64_t positions = usable_positions(input.model) + added_positions(input);
  const std::string where = input.parsed.origins.describe("block_size");
  if (block < 2)
    problems.usage("block_size must be 2 or more", where, "every token predicts the next one of its block",
                   "--block_size 1024, or a shorter one for short texts");
  if (block > positions && input.model.architecture->bounded_positions()) {
    problems.usage("block_size " + std::to_string(block) + " is larger than the model's " +
                       std::to_string(positions) + " positions",
                   where, why_bounded(*input.model.architecture),
                   "--block_size " + std::to_string(positions) + or_more(*input.model.architecture));
  }
}

// What tasks whose rows stay as they are need beside their rows.
void check_padded_task(const ResolveInput& input, const tasks::TaskRow& task, int64_t longest,
                       Problems& problems) {
  const int64_t positions = usable_positions(input.model) + added_positions(input);
  if (longest > positions && input.model.architecture->bounded_positions()) {
    problems.usage("samples of " + std::to_string(longest) + " tokens are longer than the model's " +
                       std::to_string(positions) + " positions",
                   input.parsed.origins.describe(std::string(task.length_flag)),
                   why_bounded(*input.model.architecture),
                   "--" + std::string(task.length_flag) + ' ' + std::to_string(positions) +
                       or_more(*input.model.architecture));
  }
  if (input.model.special_tokens && !input.model.special_tokens->pad) {
    problems.add(
        ExitCode::kData,
        {Diagnostic::Severity::kError, "the tokenizer has no padding token", input.model.tokenizer_folder,
         "--task " + std::string(task.name) + " pads the rows of a batch to one length",
         "name one as pad_token in its tokenizer_config.json"});
  }
}

// Of rows that nothing cuts.
void check_longest(const ResolveInput& input, const tasks::TaskRow& task, Problems& problems) {
  if (!input.model.architecture->bounded_positions()) return;
  const int64_t positions = usable_positions(input.model) + added_positions(input);
  for (const auto& [split, name] : splits_of(input.data)) {
    if (!*split || (*split)->longest <= positions) continue;
    const std::string flag = "--" + std::string(task.length_flag);
    problems.add(ExitCode::kData,
                 {Diagnostic::Severity::kError,
                  "a sample of " + std::to_string((*split)->longest) + " tokens is longer than the model's " +
                      std::to_string(positions) + " positions",
                  "the " + std::string(name) + " data",
                  why_bounded(*input.model.architecture) + ", and " + flag + " cuts no sample to as many",
                  flag + ' ' + std::to_string(positions) + or_more(*input.model.architecture)});
  }
}

// Chosen values are obeyed; plan_notes says what they do to the global batch.
void keep_global_batch(const ResolveInput& input, int64_t parts, int world_size, BatchPlan& batch) {
  const std::optional<SavedRun>& saved = input.saved;
  if (!saved || saved->world_size == world_size || saved->global_train <= 0) return;
  int64_t &micro = batch.per_device_train, &steps = batch.accumulation_steps;
  const arguments::Origins& origins = input.parsed.origins;
  if (!origins.is_chosen("gradient_accumulation_steps") && saved->global_train % (micro * parts) == 0) {
    steps = saved->global_train / (micro * parts);
  } else if (!origins.is_chosen("per_device_train_batch_size") &&
             saved->global_train % (steps * parts) == 0) {
    micro = saved->global_train / (steps * parts);
  }
}

}  // namespace

int64_t block_size(const arguments::ParseOutcome& parsed, const ModelFacts& model) {
  const std::optional<int64_t>& asked = parsed.arguments.data.block_size;
  const int64_t positions = usable_positions(model);
  if (asked) return std::min(*asked, model.tokenizer_max_length.value_or(*asked));
  if (positions <= 0)  // no limit
    return std::min(kLargestDefaultBlock, model.tokenizer_max_length.value_or(kLargestDefaultBlock));
  const bool longer = model.tokenizer_max_length.value_or(positions + 1) > positions;
  return longer ? std::min(kLargestDefaultBlock, positions) : *model.tokenizer_max_length;
}

std::vector<Diagnostic> notes_of_length(const arguments::ParseOutcome& parsed, int64_t length) {
  const tasks::TaskRow& row = task_row(parsed);
  const std::string places = std::to_string(length);
  const std::optional<int64_t>& of_instructions = parsed.arguments.instructions.max_length;
  if (row.task == tasks::Task::kInstructionTuning && of_instructions && *of_instructions > length) {
    return {note("samples of at most " + places + " tokens, not the " + std::to_string(*of_instructions) +
                     " that --max_length has as its default",
                 "the model has an embedding for each of its " + places + " positions")};
  }
  const arguments::DataArguments& data = parsed.arguments.data;
  const bool packs = row.padding == nullptr;
  const std::optional<int64_t>& asked = packs ? data.block_size : data.max_seq_length;
  if (!asked || *asked <= length) return {};
  return {warning((packs ? "blocks of " : "samples of at most ") + places + " tokens instead of " +
                      std::to_string(*asked),
                  "the tokenizer, or the model's positions, allow no more")};
}

const tasks::TaskRow& task_row(const arguments::ParseOutcome& parsed) {
  const std::string name = parsed.arguments.run.task.value_or("clm");
  // A plug-in's own first: beside one a word such as summarization_xsum stands as it was given.
  for (const std::string& word : {name, std::string(arguments::task_in(name))}) {
    if (const std::optional<tasks::Task> task = tasks::task_named(word)) return tasks::row_of(*task);
  }
  // The words of the flag have rows; others are taken beside a plug-in.
  std::vector<std::string> known;
  for (const tasks::TaskRow& row : tasks::task_table()) known.emplace_back(row.name);
  const std::string nearest = did_you_mean(nearest_names(name, known, 1));
  throw Error(ExitCode::kUsage, "there is no task '" + name + "'")
      .where(parsed.origins.describe("task"))
      .why("neither hftrain has one nor does --plugin describe it; there are " + join(known, ", "))
      .hint(nearest.empty() ? "one of these, or the plug-in with HFTRAIN_TASK for it" : nearest);
}

bool looks_at_lengths(const arguments::DataArguments& data) {
  return data.sortish_sampler || data.train_sampling_strategy == "group_by_length" ||
         data.train_sampling_strategy == "batch_rebalance";
}

std::optional<int64_t> length_room(const arguments::ParseOutcome& parsed, const ModelFacts& model) {
  const std::string flag(task_row(parsed).length_flag);
  const bool grows = parsed.arguments.model.resize_position_embeddings.value_or(false);
  if (grows || flag.empty() || parsed.origins.is_chosen(flag) || !model.architecture->bounded_positions())
    return std::nullopt;
  return usable_positions(model);
}

tasks::TaskInput task_input(const arguments::ParseOutcome& parsed, const ModelFacts& model) {
  return {.arguments = parsed.arguments,
          .model_config = model.architecture->config_json(),
          .tokenizer_max_length = model.tokenizer_max_length,
          .tokenizer_class = model.tokenizer_class,
          .names_types = model.tokenizer_names_types,
          .pad_id = model.special_tokens ? model.special_tokens->pad : std::nullopt,
          .pads_on_left = model.tokenizer_pads_on_left,
          .pad_to_max_length = parsed.arguments.data.pad_to_max_length,
          .mask_id = model.special_tokens ? model.special_tokens->mask : std::nullopt,
          .tokenizer_size = model.tokenizer_vocabulary.value_or(0),
          .model_positions = usable_positions(model),
          .length_room = length_room(parsed, model),
          .spaces_words = model.architecture->spaces_words(),
          .trains = wants_training(parsed),
          .has_head = model.has_head,
          .image = model.architecture->image(),
          .preprocessor = model.preprocessor,
          .preprocessor_origin = model.preprocessor_origin,
          .chat = model.chat};
}

bool DataPlan::draws_order(int64_t ranks) const {
  return !seedable_sampler && (sampling == "random" || (sampling == "group_by_length" && ranks > 1));
}

bool DataPlan::gives_token_types() const {
  return std::ranges::count(padding.columns, std::string("token_type_ids"), &data::PaddedColumn::tensor) > 0;
}

DataPlan resolve_data(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  const arguments::Arguments& arguments = input.parsed.arguments;
  DataPlan data;
  const tasks::TaskRow& task = task_row(input.parsed);
  data.task = task.task;
  data.dataset_name = arguments.data.dataset_name.value_or("");
  if (task.preprocessor != nullptr) {
    data.preprocessor = task.preprocessor(task_input(input.parsed, input.model));
    data.block_size = input.model.architecture->image()->tokens;
  } else if (task.padding != nullptr) {
    tasks::TaskInput facts = task_input(input.parsed, input.model);
    if (input.saved) facts.names_types = input.saved->token_types.value_or(facts.names_types);
    const bool waits_for_data = task.config_changes != nullptr && input.data.of_task.is_null();
    if (!waits_for_data) data.padding = task.padding(facts, input.data.of_task);
    if (task.joins_samples != nullptr) data.joins_samples = task.joins_samples(facts);
    if (task.masking != nullptr) data.masking = task.masking(facts);
    data.block_size = task.longest(facts);
    if (task.longest_target != nullptr) data.target_size = task.longest_target(facts);
    check_padded_task(input, task, std::max(data.block_size, data.target_size), problems);
    // Where the limit is too long for the model it has been told.
    if (std::max(data.block_size, data.target_size) <= usable_positions(input.model) + added_positions(input))
      check_longest(input, task, problems);
  } else {
    data.block_size = block_size(input.parsed, input.model);
    check_block(input, data.block_size, problems);
  }
  if (plan.do_train) data.train = split_plan(input.data.train);
  if (plan.do_train) data.training_key = input.data.training_key;
  if (wants_validation(input.parsed)) data.validation = split_plan(input.data.validation);
  if (plan.do_predict) data.test = split_plan(input.data.test);
  if (plan.do_eval) data.validation_mismatched = split_plan(input.data.validation_mismatched);
  if (plan.do_predict) data.test_mismatched = split_plan(input.data.test_mismatched);
  data.seed = static_cast<uint64_t>(arguments.data.data_seed.value_or(arguments.run.seed));
  data.drop_last = arguments.batch.dataloader_drop_last;
  if (arguments.parallel.accelerator_config) {
    data.even_batches = arguments.parallel.accelerator_config->even_batches;
    data.split_batches = arguments.parallel.accelerator_config->split_batches;
    data.dispatch_batches =
        arguments.parallel.accelerator_config->dispatch_batches.value_or(false) && plan.ranks.world_size > 1;
    data.seedable_sampler = arguments.parallel.accelerator_config->use_seedable_sampler;
  }
  if (plan.do_train && input.data.stream) {
    take_stream(*input.data.stream, arguments.parallel, plan.ranks, data);
  } else {
    data.sampling = sampling_of(input, data, problems);
  }
  data.loader_workers = arguments.data.dataloader_num_workers;
  data.prefetch_factor = arguments.data.dataloader_prefetch_factor.value_or(kDefaultPrefetch);
  data.pin_memory = arguments.data.dataloader_pin_memory && on_gpu(plan.ranks);
  data.ignore_data_skip = arguments.data.ignore_data_skip;
  return data;
}

BatchPlan resolve_batch(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  const arguments::BatchArguments& batch = input.parsed.arguments.batch;
  BatchPlan result;
  result.per_device_train = batch.per_device_train_batch_size;
  result.per_device_eval = batch.per_device_eval_batch_size;
  result.accumulation_steps = batch.gradient_accumulation_steps;
  result.average_tokens_across_devices = batch.average_tokens_across_devices;
  const auto& accelerator = input.parsed.arguments.parallel.accelerator_config;
  result.sync_each_batch = accelerator && accelerator->sync_each_batch;
  const int64_t world = plan.ranks.world_size;
  if (input.found_batch) {
    result.per_device_train = *input.found_batch;
  } else {
    keep_global_batch(input, plan.data.split_batches ? 1 : world, plan.ranks.world_size, result);
    fit_train_batch_size(input, plan.data.split_batches ? 1 : world, result, problems);
  }
  result.global_train =
      result.per_device_train * result.accumulation_steps * (plan.data.split_batches ? 1 : world);
  const auto check_split_size = [&](const char* flag, int64_t size) {
    if (!plan.data.split_batches || size % world == 0) return;
    problems.usage("with split_batches " + std::string(flag) + " must be a multiple of the number of ranks",
                   input.parsed.origins.describe(flag),
                   std::to_string(size) + " does not divide by " + std::to_string(world),
                   std::string("--") + flag + ' ' + std::to_string((size / world + 1) * world) +
                       ", or split_batches false in --accelerator_config");
  };
  check_split_size("per_device_train_batch_size", result.per_device_train);
  check_split_size("per_device_eval_batch_size", result.per_device_eval);
  const auto shape_of = [&](const std::optional<SplitPlan>& split) {
    return epoch_shape(split.value_or(SplitPlan()), result.per_device_eval, plan);
  };
  const EpochShape training = training_shape(plan.data.train.value_or(SplitPlan()), result, plan);
  check_split("training", plan.data.train, training, plan, problems);
  const auto check_evaluated = [&](const char* name, const std::optional<SplitPlan>& split) {
    check_split(name, split, shape_of(split), plan, problems);
  };
  check_evaluated("validation", plan.data.validation);
  check_evaluated("test", plan.data.test);
  check_evaluated("mismatched validation", plan.data.validation_mismatched);
  check_evaluated("mismatched test", plan.data.test_mismatched);
  return result;
}

namespace {

// As the Trainer: an epoch of unknown length counts as all updates of the run, and there is no end of epochs.
StepsPlan steps_of_stream(const arguments::RunArguments& run, const BatchPlan& batch) {
  return {.batches_per_epoch = run.max_steps * batch.accumulation_steps,
          .updates_per_epoch = run.max_steps,
          .max_steps = run.max_steps,
          .epochs = kEndlessEpochs,
          .limited_by_steps = true,
          .num_train_epochs = run.num_train_epochs,
          .samples_for_speed = run.max_steps * batch.global_train};
}

// Chosen flags that cannot act on a stream.
std::vector<std::string> idle_flags(const ResolveInput& input, const RunPlan& plan) {
  const auto& accelerator = input.parsed.arguments.parallel.accelerator_config;
  const auto chosen = [&](const char* flag) { return input.parsed.origins.is_chosen(flag); };
  std::vector<std::string> idle;
  const std::string& strategy = input.parsed.arguments.data.train_sampling_strategy;
  if (chosen("train_sampling_strategy") && strategy != "sequential")
    idle.push_back("train_sampling_strategy " + strategy);
  if (chosen("data_seed") && !plan.data.masking) idle.emplace_back("data_seed");
  if (chosen("length_column_name")) idle.emplace_back("length_column_name");
  if (accelerator && !accelerator->even_batches) idle.emplace_back("accelerator_config.even_batches");
  if (accelerator && !accelerator->use_seedable_sampler)
    idle.emplace_back("accelerator_config.use_seedable_sampler");
  return idle;
}

}  // namespace

void note_dropped_rows(const RunPlan& plan, std::vector<Diagnostic>& notes) {
  if (!plan.data.drop_last) return;
  const auto look = [&](const std::optional<SplitPlan>& split, const std::string& what) {
    if (!split || !split->exact) return;
    const EpochShape shape = epoch_shape(*split, plan.batch.per_device_eval, plan);
    const int64_t each = plan.batch.per_device_eval * (plan.data.split_batches ? 1 : plan.ranks.world_size);
    const int64_t left_out = split->samples - batches_per_epoch(shape) * each;
    if (left_out <= 0) return;
    notes.push_back(
        warning(what + with_thousands(left_out) + " of " + with_thousands(split->samples) + " samples",
                "--dataloader_drop_last leaves out what does not fill a batch of every rank",
                "--dataloader_drop_last false, or a --per_device_eval_batch_size that divides them"));
  };
  look(plan.data.validation, "the evaluation leaves out ");
  look(plan.data.validation_mismatched, "the mismatched evaluation leaves out ");
  look(plan.data.test, "there is no prediction for ");
  look(plan.data.test_mismatched, "there is no mismatched prediction for ");
}

void note_stream(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  if (!plan.data.stream) return;
  const std::vector<std::string> idle = idle_flags(input, plan);
  if (idle.empty()) return;
  notes.push_back(
      warning("a stream has no use for " + join(idle, ", "),
              "its samples come in the order of the files, and all ranks get batches until it ends",
              "shuffle the files beforehand, or leave --streaming out"));
}

StepsPlan resolve_steps(const ResolveInput& input, const RunPlan& plan) {
  const arguments::RunArguments& run = input.parsed.arguments.run;
  StepRequest request;
  request.accumulation_steps = plan.batch.accumulation_steps;
  request.max_steps = run.max_steps;
  request.num_train_epochs = run.num_train_epochs;
  request.global_batch = plan.batch.global_train;
  request.floors_updates = ReleaseHabits{plan.release}.floors_updates();
  if (!plan.do_train) return StepsPlan{.num_train_epochs = run.num_train_epochs};
  if (plan.data.stream) return steps_of_stream(run, plan.batch);
  if (plan.data.train) {
    request.samples = plan.data.train->samples;
    request.batches_per_epoch = batches_per_epoch(training_shape(*plan.data.train, plan.batch, plan));
  }
  return plan_steps(request);
}

}  // namespace hftrain::plan

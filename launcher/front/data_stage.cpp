#include "launcher/front/data_stage.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/data/estimate.h"
#include "hftrain/data/first_rows.h"
#include "hftrain/data/length_column.h"
#include "hftrain/data/prepare.h"
#include "hftrain/data/prepared_folder.h"
#include "hftrain/data/stream_request.h"
#include "launcher/front/stop_flag.h"
#include "launcher/front/text_paths.h"

namespace hftrain::front {
namespace {

std::optional<plan::SplitFacts> facts_of_split(const std::optional<data::PreparedSplit>& split) {
  if (!split) return std::nullopt;
  return plan::SplitFacts{split->cache_path, split->samples,          split->tokens, split->exact,
                          split->columns,    split->largest_token_id, split->longest};
}

std::string describe(const data::PreparedData& prepared) {
  std::vector<std::string> splits;
  const auto add = [&](const char* name, const std::optional<data::PreparedSplit>& split) {
    if (split) splits.push_back(with_thousands(split->samples) + ' ' + name);
  };
  add("training", prepared.train);
  add("validation", prepared.validation);
  add("test", prepared.test);
  add("mismatched validation", prepared.validation_mismatched);
  add("mismatched test", prepared.test_mismatched);
  return join(splits, ", ") + " samples";
}

Error images_have_no_length() {
  return Error(ExitCode::kUsage, "images cannot be ordered by their lengths")
      .where("--train_sampling_strategy")
      .why("the images of a batch are all of one size")
      .hint("random or sequential");
}

// Empty where no tokenizer is named.
data::TokenizerLoader loader_for(const data::PrepareRequest& request) {
  if (request.tokenizer_folder.empty()) return {};
  return [&request] { return tokenizer::Tokenizer::load(request.tokenizer_folder); };
}

std::optional<data::StreamSpec> stream_of(const data::PrepareRequest& request) {
  if (!request.streams_training) return std::nullopt;
  return data::spec_of_stream(request, loader_for(request));
}

void add_stream(const data::PrepareRequest& request, std::optional<data::StreamSpec> stream,
                data::PreparedData& prepared) {
  if (stream) prepared.training_key = data::training_key_of_stream(request, *stream);
  prepared.stream = std::move(stream);
  if (prepared.facts.is_null()) prepared.facts = request.recipe.facts;  // there is nothing to prepare
}

std::string and_more(size_t files) {
  return files == 0 ? "" : " and " + std::to_string(files) + " more";
}

Error no_validation_data() {
  return Error(ExitCode::kUsage, "there is no validation data to evaluate with")
      .where("--do_eval")
      .why("none is named, and none of the training data is held out")
      .hint(
          "--validation_file or of images --validation_dir; or --validation_split_percentage, of images "
          "--train_val_split");
}

void tell_of_stream(const data::StreamSpec& stream, reporting::Console& console) {
  std::vector<std::string> paths;
  for (const data::FileStamp& file : stream.files) paths.push_back(file.path);
  for (const std::string& told : data::told_of_repeated_files(paths, data::Split::kTrain))
    console.message(LogLevel::kWarning, told);
  console.line("data: training rows are streamed from " + paths.front() + and_more(paths.size() - 1) +
               ", in the order of the files");
}

}  // namespace

data::PrepareRequest prepare_request(const Inputs& inputs) {
  const arguments::Arguments& arguments = inputs.parsed.arguments;
  const arguments::DataArguments& asked = arguments.data;
  data::PrepareRequest request;
  const bool validation = plan::wants_validation(inputs.parsed);
  // Held-out validation rows come out of the training files, so those are read for an evaluation alone too.
  const bool hold_out = validation && inputs.files.validation.empty();
  if (plan::wants_training(inputs.parsed) || hold_out) request.train_files = inputs.files.train;
  if (validation) request.validation_files = inputs.files.validation;
  if (arguments.run.do_predict) request.test_files = inputs.files.test;
  if (arguments.run.do_eval) request.validation_mismatched_files = inputs.files.validation_mismatched;
  if (arguments.run.do_predict) request.test_mismatched_files = inputs.files.test_mismatched;
  if (hold_out && asked.validation_split_percentage) {
    request.hold_out_percent = static_cast<int>(*asked.validation_split_percentage);
  }
  request.training_split = plan::wants_training(inputs.parsed);
  request.streams_training = asked.streaming && request.training_split;
  // An evaluation alone judges the rows that the training of the same words left out.
  request.holds_out_of_hundreds = asked.streaming;
  const tasks::TaskRow& task = plan::task_row(inputs.parsed);
  const tasks::TaskInput input = plan::task_input(inputs.parsed, inputs.model);
  request.recipe = task.recipe(input);
  if (plan::looks_at_lengths(asked) && !request.recipe.reads_text) throw images_have_no_length();
  // Packed samples have the lengths that they got.
  const bool keeps_rows =
      request.recipe.arrangement == data::Arrangement::kKeepRows && !request.recipe.packing;
  if (plan::looks_at_lengths(asked) && keeps_rows && !request.streams_training)
    request.recipe = data::with_lengths(std::move(request.recipe), asked.length_column_name.value_or(""));
  if (plan::task_row(inputs.parsed).preprocessor != nullptr) {
    const double share = asked.train_val_split.value_or(0);
    request.hold_out_percent.reset();
    if (hold_out && share > 0) request.hold_out_percent = static_cast<int>(std::lround(100 * share));
  }
  if (hold_out && !request.hold_out_percent) throw no_validation_data();
  request.survey_files = inputs.files.train;
  request.tokenizer_folder = inputs.model.tokenizer_folder;
  request.block_size =
      task.longest != nullptr ? task.longest(input) : plan::block_size(inputs.parsed, inputs.model);
  const auto& flags = task.flags;
  request.keep_linebreaks =
      asked.keep_linebreaks && std::find(flags.begin(), flags.end(), "keep_linebreaks") != flags.end();
  request.max_train_samples = asked.max_train_samples;
  request.max_eval_samples = asked.max_eval_samples;
  request.max_predict_samples = asked.max_predict_samples;
  request.cache_folder = data::cache_folder(inputs.environment);
  require_text(request.cache_folder, "the folder of prepared data");
  request.overwrite_cache = asked.overwrite_cache;
  const std::optional<int64_t>& threads = arguments.instructions.dataset_num_proc;
  request.workers = static_cast<int>(threads.value_or(asked.preprocessing_num_workers.value_or(0)));
  return request;
}

plan::DataFacts facts_of(const data::PreparedData& prepared) {
  return {facts_of_split(prepared.train),
          facts_of_split(prepared.validation),
          facts_of_split(prepared.test),
          prepared.facts,
          facts_of_split(prepared.validation_mismatched),
          facts_of_split(prepared.test_mismatched),
          prepared.stream,
          prepared.training_key};
}

std::map<std::string, std::string> paths_of(const data::PreparedData& prepared) {
  std::map<std::string, std::string> paths;
  const auto add = [&](const char* name, const std::optional<data::PreparedSplit>& split) {
    if (split) paths[name] = split->cache_path;
  };
  add("train", prepared.train);
  add("validation", prepared.validation);
  add("test", prepared.test);
  add("validation_mismatched", prepared.validation_mismatched);
  add("test_mismatched", prepared.test_mismatched);
  return paths;
}

data::PreparedData estimated(const data::PrepareRequest& request) {
  data::folder_of_samples(request);  // an Error where it is to be streamed
  std::optional<data::StreamSpec> stream = stream_of(request);
  if (stream) data::look_at_stream(request);
  const auto with_stream = [&](data::PreparedData prepared) {
    add_stream(request, std::move(stream), prepared);
    return prepared;
  };
  data::refuse_other_vocabulary(request, loader_for(request));
  if (!request.overwrite_cache) {
    if (auto prepared = data::find_prepared(request)) return with_stream(std::move(*prepared));
  }
  data::PreparedData guessed = data::estimate_prepared(request, loader_for(request));
  if (!request.overwrite_cache) guessed.training_key = data::training_key(request);
  return with_stream(std::move(guessed));
}

plan::DataFacts estimate_data(const data::PrepareRequest& request) {
  return facts_of(estimated(request));
}

std::optional<data::PreparedData> prepare_data(const data::PrepareRequest& request,
                                               reporting::Console& console) {
  std::optional<data::PreparedData> prepared;
  {
    const StopFlag stop;
    prepared = prepare_data_until(request, console, stop.is_set());
  }
  // Not all of the work looks at the flag, and whoever asked in the meantime is not asked again.
  if (first_stop_signal() != 0) return std::nullopt;
  return prepared;
}

Error stopped_while_preparing() {
  return Error(ExitCode::kTerminatedUnsaved, "stopped while preparing data")
      .where("before training")
      .why("the job was asked to stop")
      .hint("the same command prepares them; what was prepared before stays in the cache");
}

std::optional<data::PreparedData> prepare_data_until(const data::PrepareRequest& request,
                                                     reporting::Console& console,
                                                     const std::atomic<bool>& stop) {
  data::PrepareObserver observer;
  observer.stop = &stop;
  observer.logger =
      Logger(LogLevel::kInfo, [&](LogLevel level, std::string_view text) { console.message(level, text); });
  observer.progress = [&](const data::PrepareProgress& progress) {
    console.event("progress",
                  {{"phase", "prepare"}, {"done", progress.bytes_done}, {"total", progress.bytes_total}},
                  unix_seconds());
  };
  const double start = monotonic_seconds();
  auto prepared = data::prepare(
      request, [&] { return tokenizer::Tokenizer::load(request.tokenizer_folder); }, observer);
  if (prepared) add_stream(request, stream_of(request), *prepared);
  if (prepared && prepared->stream) tell_of_stream(*prepared->stream, console);
  const bool any = prepared && !paths_of(*prepared).empty();
  if (any) {
    const std::string how = prepared->from_cache
                                ? "from the cache"
                                : "prepared in " + format_duration(monotonic_seconds() - start);
    console.line("data: " + describe(*prepared) + ", " + how);
  }
  return prepared;
}

}  // namespace hftrain::front

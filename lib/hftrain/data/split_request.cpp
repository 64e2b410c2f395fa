#include "hftrain/data/split_request.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hftrain/base/text.h"
#include "hftrain/data/block_packer.h"

namespace hftrain::data {
namespace {

Error no_samples_asked(const SplitRequest& split) {
  const std::string flag = split.split == Split::kTrain        ? "--max_train_samples"
                           : split.split == Split::kValidation ? "--max_eval_samples"
                                                               : "--max_predict_samples";
  return Error(ExitCode::kData, std::string("there is no ") + split_name(split.split) + " data to use")
      .where(flag)
      .why("it is " + std::to_string(*split.max_samples))
      .hint("1 or more, or leave it out");
}

}  // namespace

const char* long_name(Split split) {
  switch (split) {
    case Split::kTrain:
      return "training";
    case Split::kValidation:
      return "validation";
    case Split::kTest:
      return "test";
  }
  return "";
}

void refuse_token_files(const DataFiles& files, const Recipe& recipe) {
  if (!files.tokenized() || recipe.takes_token_files) return;
  throw Error(ExitCode::kUsage, "token files are no data of the task " + recipe.task)
      .where(files.token_prefixes.front() + ".bin")
      .why("they hold ids of tokens, and this task makes its samples of rows")
      .hint("name the files with the rows");
}

std::vector<SplitRequest> splits_of(const PrepareRequest& request) {
  std::vector<SplitRequest> splits;
  std::optional<ExitCode> code;
  std::vector<Diagnostic> mistakes;  // of all splits, told together
  const auto add = [&](Split split, const std::vector<std::string>& patterns, std::optional<int64_t> limit,
                       bool mismatched = false) {
    if (patterns.empty()) return;
    try {
      splits.push_back({split, mismatched, find_data_files(patterns, split, request.recipe.image_folders),
                        RowShare::kAll, 0, limit});
    } catch (const Error& error) {
      code = code.value_or(error.code());
      mistakes.insert(mistakes.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  };
  add(Split::kTrain, request.train_files, request.max_train_samples);
  add(Split::kValidation, request.validation_files, request.max_eval_samples);
  add(Split::kTest, request.test_files, request.max_predict_samples);
  add(Split::kValidation, request.validation_mismatched_files, request.max_eval_samples, true);
  add(Split::kTest, request.test_mismatched_files, request.max_predict_samples, true);
  if (code) throw Error(*code, std::move(mistakes));
  if (request.hold_out_percent && request.validation_files.empty() && !request.train_files.empty()) {
    SplitRequest& train = splits.front();
    train.share = RowShare::kAfterHeldOut;
    train.hold_out_percent = *request.hold_out_percent;
    SplitRequest validation = train;
    validation.split = Split::kValidation;
    validation.share = RowShare::kHeldOut;
    validation.max_samples = request.max_eval_samples;
    splits.insert(splits.begin() + 1, std::move(validation));
    if (!request.training_split && !request.streams_training) splits.erase(splits.begin());
  }
  if (request.streams_training && !request.train_files.empty()) splits.erase(splits.begin());
  if (splits.empty() && !request.streams_training) {
    throw Error(ExitCode::kUsage, "there is no data to prepare")
        .where("command line")
        .why("no file is named that a run would read")
        .hint("name files with --train_file or --validation_file");
  }
  for (const SplitRequest& split : splits) {
    refuse_token_files(split.files, request.recipe);
    if (split.max_samples && *split.max_samples <= 0) throw no_samples_asked(split);
  }
  return splits;
}

std::optional<PreparedSplit>& member_of(PreparedData& data, const SplitRequest& split) {
  switch (split.split) {
    case Split::kTrain:
      return data.train;
    case Split::kValidation:
      return split.mismatched ? data.validation_mismatched : data.validation;
    case Split::kTest:
      break;
  }
  return split.mismatched ? data.test_mismatched : data.test;
}

std::string name_of(const SplitRequest& split) {
  return std::string(split_name(split.split)) + (split.mismatched ? "_mismatched" : "");
}

Error no_sample(const SplitRequest& split, int64_t tokens, const PrepareRequest& request) {
  const std::string name = long_name(split.split);
  Error error(ExitCode::kData, tokens == 0 ? "the " + name + " data is empty"
                                           : "the " + name + " data does not fill a single block");
  error.where(split.files.paths().front());
  if (tokens == 0)
    return error.why("it has no row that gives a sample; empty ones do not count")
        .hint("see whether this is the file that is meant");
  return error
      .why(with_thousands(tokens) + " tokens, joined in groups of " + std::to_string(kRowsPerGroup) +
           " rows; a block takes " + with_thousands(request.block_size))
      .hint("choose a smaller " + std::string(request.recipe.length_flag) + ", or add data");
}

bool has_text(const PrepareRequest& request, const std::vector<SplitRequest>& splits) {
  return request.recipe.reads_text &&
         std::any_of(splits.begin(), splits.end(),
                     [](const SplitRequest& split) { return !split.files.tokenized(); });
}

bool packs(const PrepareRequest& request) {
  return request.recipe.arrangement == Arrangement::kPack;
}

void check_block_size(const PrepareRequest& request) {
  if (packs(request) && request.block_size <= 0)
    throw Error(ExitCode::kInternal, "the block size has not been resolved");
}

DataFiles survey_files(const PrepareRequest& request) {
  if (!request.recipe.survey || request.survey_files.empty()) return {};
  DataFiles files = find_data_files(request.survey_files, Split::kTrain, request.recipe.image_folders);
  refuse_token_files(files, request.recipe);
  return files;
}

int64_t percent_of_rows(int percent, int64_t rows) {
  // The same double arithmetic as Python's round(percent * rows / 100.0).
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(percent * rows) / 100.0));
}

}  // namespace hftrain::data

#include "hftrain/data/stream_request.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/hash.h"
#include "hftrain/data/file_hashes.h"
#include "hftrain/data/settled_columns.h"
#include "hftrain/data/split_request.h"

namespace hftrain::data {
namespace {

Error not_streamed(const std::string& what, const std::string& why, const std::string& hint) {
  return Error(ExitCode::kUsage, what).where("--streaming").why(why).hint(hint);
}

void check_recipe(const PrepareRequest& request) {
  const Recipe& recipe = request.recipe;
  if (recipe.settings.is_null())
    throw not_streamed(
        "the rows of this task cannot be streamed",
        "--task " + recipe.task + " looks at all training rows before the first update",
        "leave --streaming out: prepared data lie on the disk, and their size does not matter for "
        "memory; tasks that stream are clm, mlm and sft, and those of plug-ins whose labels nobody has to "
        "look "
        "for");
  if (recipe.shuffle_seed)
    throw not_streamed("a stream is not shuffled",
                       "--shuffle_dataset needs all rows before the first of them",
                       "leave one of the two out, or shuffle the file");
  if (request.max_train_samples && *request.max_train_samples <= 0)
    throw Error(ExitCode::kData, "there is no training data to use")
        .where("--max_train_samples")
        .why("it is " + std::to_string(*request.max_train_samples))
        .hint("1 or more, or leave it out");
}

std::vector<FileStamp> stamps_of(const PrepareRequest& request) {
  const DataFiles files = find_data_files(request.train_files, Split::kTrain);
  refuse_token_files(files, request.recipe);  // prepared, they would be no data either
  if (files.tokenized())
    throw not_streamed(
        "token files are not streamed",
        files.token_prefixes.front() + ".bin holds token ids already, and is used where it lies",
        "leave --streaming out");
  std::vector<FileStamp> stamps;
  for (const RowFile& file : files.rows) stamps.push_back(stamp_of(file));
  return stamps;
}

std::vector<std::string> columns_of(const PrepareRequest& request, const TokenizerLoader& load_tokenizer) {
  if (request.tokenizer_folder.empty()) return {kInputIds};  // of a plan without a tokenizer
  const auto encoder = request.recipe.encoder(load_tokenizer(), Split::kTrain, nullptr);
  std::vector<std::string> columns;
  const FeatureSchema schema = packed_schema(encoder->schema(), request.recipe.packing_of(Split::kTrain));
  for (const FeatureColumn& column : schema) columns.push_back(column.name);
  return columns;
}

// `options`: of the recipe.
std::string identity_of(const PrepareRequest& request, const StreamSpec& spec, const Json& options) {
  const bool packs = request.recipe.arrangement == Arrangement::kPack;
  Json key = {{"task", request.recipe.task},
              {"options", options},
              {"block_size", packs ? Json(spec.block_size) : Json()},
              {"keep_linebreaks", spec.keep_linebreaks},
              {"hold_out_percent", spec.hold_out_percent},
              {"max_samples", spec.max_samples ? Json(*spec.max_samples) : Json()}};
  for (const FileStamp& file : spec.files) key["files"].push_back(file.key());
  if (!spec.tokenizer_folder.empty())
    key["tokenizer"] = key_of_tokenizer(spec.tokenizer_folder, FileHashes(request.cache_folder + "/hashes"));
  return "stream-" + hash_bytes(dump_json(key, -1));
}

}  // namespace

StreamSpec spec_of_stream(const PrepareRequest& request, const TokenizerLoader& load_tokenizer) {
  check_recipe(request);
  StreamSpec spec;
  spec.files = stamps_of(request);
  spec.recipe = request.recipe.settings;
  spec.read = settled_columns(request);
  spec.columns = columns_of(request, load_tokenizer);
  spec.tokenizer_folder = request.tokenizer_folder;
  spec.keep_linebreaks = request.keep_linebreaks;
  const bool holds_out = request.hold_out_percent && request.validation_files.empty();
  spec.hold_out_percent = holds_out ? *request.hold_out_percent : 0;
  spec.max_samples = request.max_train_samples;
  spec.block_size = request.block_size;
  spec.threads = std::max(1, request.workers);
  spec.identity = identity_of(request, spec, request.recipe.options);
  return spec;
}

std::string training_key_of_stream(const PrepareRequest& request, const StreamSpec& spec) {
  const Json& of_training = request.recipe.training_options;
  return of_training.is_null() ? spec.identity : identity_of(request, spec, of_training);
}

}  // namespace hftrain::data

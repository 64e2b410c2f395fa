#include "hftrain/data/prepare.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/base/json.h"
#include "hftrain/data/file_hashes.h"
#include "hftrain/data/image_folder.h"
#include "hftrain/data/line_reader.h"
#include "hftrain/data/settled_columns.h"
#include "hftrain/data/split_builder.h"
#include "hftrain/data/stream_spec.h"
#include "hftrain/data/token_cache.h"

namespace hftrain::data {
namespace {

namespace fs = std::filesystem;

// The splits that a request asks for, with the part of the rows each one gets.
std::vector<SplitRequest> splits_of(const PrepareRequest& request) {
  std::vector<SplitRequest> splits;
  const auto add = [&](Split split, const std::vector<std::string>& patterns, std::optional<int64_t> limit,
                       bool mismatched = false) {
    if (!patterns.empty())
      splits.push_back({split, mismatched, find_data_files(patterns, split, request.recipe.image_folders),
                        RowShare::kAll, 0, limit});
  };
  add(Split::kTrain, request.train_files, request.max_train_samples);
  add(Split::kValidation, request.validation_files, request.max_eval_samples);
  add(Split::kTest, request.test_files, request.max_predict_samples);
  add(Split::kValidation, request.validation_mismatched_files, request.max_eval_samples, true);
  add(Split::kTest, request.test_mismatched_files, request.max_predict_samples, true);
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
        .hint("name files with --train_file or --validation_file");
  }
  return splits;
}

// What tells the contents of a file of rows from others. Of images their places and sizes: the cache holds no more of
// them than where they are.
Json key_of_rows(const RowFile& file, const FileHashes& hashes) {
  if (file.format == RowFormat::kLinePairs)
    return {static_cast<int>(file.format), hashes.hash(file.path), hashes.hash(target_of_pair(file.path))};
  if (file.format != RowFormat::kImageFolder) return {static_cast<int>(file.format), hashes.hash(file.path)};
  std::string listing;
  for (const ImageFile& image : image_files(file.path))
    listing += image.path + '\0' + std::to_string(image.bytes) + '\n';
  return {static_cast<int>(file.format), fs::absolute(file.path).lexically_normal().string(),
          hash_bytes(listing)};
}

// Of rows that are held out of a stream the contents are not read for it, which may be as long as training.
Json key_of_split(const SplitRequest& split, bool of_stream, const FileHashes& hashes) {
  Json files = Json::array();
  for (const RowFile& file : split.files.rows)
    files.push_back(of_stream ? stamp_of(file).key() : key_of_rows(file, hashes));
  for (const std::string& prefix : split.files.token_prefixes) {
    files.push_back({"tokens", hashes.hash(prefix + ".idx"), hashes.hash(prefix + ".bin")});
  }
  return {{"files", files},
          {"share", static_cast<int>(split.share)},
          {"hold_out_percent", split.hold_out_percent},
          {"max_samples", split.max_samples ? Json(*split.max_samples) : Json()}};
}

bool has_text(const PrepareRequest& request, const std::vector<SplitRequest>& splits) {
  return request.recipe.reads_text &&
         std::any_of(splits.begin(), splits.end(),
                     [](const SplitRequest& split) { return !split.files.tokenized(); });
}

void warn_of_repeated_files(const std::vector<SplitRequest>& splits, const Logger& logger) {
  for (const SplitRequest& split : splits) {
    if (split.share == RowShare::kHeldOut) continue;  // of the training files
    for (const std::string& told : told_of_repeated_files(split.files.paths(), split.split))
      logger.warning(told);
  }
}

bool packs(const PrepareRequest& request) {
  return request.recipe.arrangement == Arrangement::kPack;
}

// Rows that the recipe wants to see first; none without a survey.
DataFiles survey_files(const PrepareRequest& request) {
  if (!request.recipe.survey || request.survey_files.empty()) return {};
  return find_data_files(request.survey_files, Split::kTrain, request.recipe.image_folders);
}

// A hash of everything that decides the result: contents and formats of the files, tokenizer, options.
std::string key_of(const PrepareRequest& request, const std::vector<SplitRequest>& splits) {
  const FileHashes hashes(request.cache_folder + "/hashes");
  Json key = {{"format", kCacheFormat},
              {"task", request.recipe.task},
              {"options", request.recipe.options},
              {"facts", request.recipe.facts},
              {"block_size", packs(request) ? Json(request.block_size) : Json()},
              {"keep_linebreaks", request.keep_linebreaks}};
  for (const SplitRequest& split : splits) {
    const bool of_stream = request.holds_out_of_hundreds && split.share == RowShare::kHeldOut;
    key["splits"][name_of(split)] = key_of_split(split, of_stream, hashes);
  }
  for (const RowFile& file : survey_files(request).rows) key["survey"].push_back(key_of_rows(file, hashes));
  // Of other files the key holds the contents, and with them what their first one chooses.
  if (request.streams_training) key["columns"] = settled_columns(request).names;
  if (has_text(request, splits)) key["tokenizer"] = key_of_tokenizer(request.tokenizer_folder, hashes);
  return hash_bytes(dump_json(key, -1));
}

PrepareRequest with_columns_of_first_file(PrepareRequest request) {
  const SettledColumns columns = settled_columns(request);
  request.recipe = with_settled_columns(std::move(request.recipe), columns);
  return request;
}

// For people who look into the cache: whose blocks these are.
Json made_from(const PrepareRequest& request, const std::vector<SplitRequest>& splits) {
  const auto absolute = [](const std::string& path) {
    return fs::absolute(path).lexically_normal().string();
  };
  std::vector<std::string> sources;
  for (const SplitRequest& split : splits) {
    for (const RowFile& file : split.files.rows) sources.push_back(absolute(file.path));
    for (const std::string& prefix : split.files.token_prefixes) sources.push_back(absolute(prefix + ".bin"));
  }
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  return {{"sources", sources},
          {"tokenizer", has_text(request, splits) ? absolute(request.tokenizer_folder) : ""}};
}

void check(const PrepareRequest& request) {
  if (packs(request) && request.block_size <= 0)
    throw Error(ExitCode::kInternal, "the block size has not been resolved");
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

uint64_t uncompressed_size(const std::string& path) {
  constexpr uint64_t kTextCompresses = 3;  // what gzip and zstd do to plain text, about
  const uint64_t size = bytes_of_file(path);
  return path.ends_with(".gz") || path.ends_with(".zst") || path.ends_with(".parquet")
             ? size * kTextCompresses
             : size;
}

Error no_samples_asked(const SplitRequest& split) {
  const std::string flag = split.split == Split::kTrain        ? "--max_train_samples"
                           : split.split == Split::kValidation ? "--max_eval_samples"
                                                               : "--max_predict_samples";
  return Error(ExitCode::kData, std::string("there is no ") + split_name(split.split) + " data to use")
      .where(flag)
      .why("it is " + std::to_string(*split.max_samples))
      .hint("1 or more, or leave it out");
}

// What the first rows of a file show: text that is none, records without the field, a file without rows. Only
// the run reads on.
constexpr size_t kHeadBytes = 256 << 10, kLongestHeadRow = 1 << 20, kMostHeads = 8;
constexpr int kHeadRows = 100;

// Such a row may be right: the run takes longer ones.
bool ends_in_a_long_row(const Error& error) {
  return error.diagnostics().front().why.ends_with(too_long("", kLongestHeadRow));
}

void look_at_head(const RowFile& file, Split split, const PrepareRequest& request) {
  const ColumnRule columns = request.recipe.columns(split);
  const auto rows = open_rows(
      {file},
      {.keep_linebreaks = request.keep_linebreaks, .longest_row = kLongestHeadRow, .columns = columns});
  Records records(columns.columns);
  try {
    for (int row = 0; row < kHeadRows && records.text_bytes() < kHeadBytes && rows->next(records);) ++row;
  } catch (const Error& error) {
    if (!ends_in_a_long_row(error)) throw;
  }
}

void look_at_heads(const SplitRequest& split, const PrepareRequest& request) {
  const std::vector<RowFile>& files = split.files.rows;
  const std::vector<std::string>& prefixes = split.files.token_prefixes;
  const bool empty =
      std::all_of(files.begin(), files.end(), [](const RowFile& file) { return bytes_of(file) == 0; }) &&
      std::all_of(prefixes.begin(), prefixes.end(),
                  [](const std::string& prefix) { return bytes_of_file(prefix + ".bin") == 0; });
  if (empty) throw no_sample(split, 0, request);
  for (size_t i = 0; i < std::min(files.size(), kMostHeads); ++i)
    look_at_head(files[i], split.split, request);
}

uint64_t text_bytes(const SplitRequest& split) {
  uint64_t bytes = 0;
  for (const RowFile& file : split.files.rows)
    bytes += file.format == RowFormat::kImageFolder ? bytes_of(file) : uncompressed_size(file.path);
  return bytes;
}

// Rows that may not fill a block or hold none at all, and are read in no time.
bool is_small(const SplitRequest& split, const PrepareRequest& request) {
  constexpr uint64_t kMostBytesPerToken = 16, kMostBytes = 256 << 10;
  const uint64_t one_block = kMostBytesPerToken * static_cast<uint64_t>(request.block_size);
  return !split.files.tokenized() &&
         text_bytes(split) <= (packs(request) ? std::min(kMostBytes, one_block) : kMostBytes);
}

// A Parquet file holds what its rows are beside them, which may be most of it: whether they fill a block shows when they are
// read.
bool may_be_short(const SplitRequest& split, const PrepareRequest& request) {
  constexpr uint64_t kMostBytes = 1 << 20;
  const std::vector<RowFile>& files = split.files.rows;
  return packs(request) && bytes_of(split.files) <= kMostBytes &&
         std::any_of(files.begin(), files.end(),
                     [](const RowFile& file) { return file.format == RowFormat::kParquet; });
}

// A folder that is gone with this object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code missing;
    std::string pattern = (fs::temp_directory_path(missing) / "hftrain-estimate-XXXXXX").string();
    if (missing || ::mkdtemp(pattern.data()) == nullptr)
      throw system_error(missing ? missing.value() : errno, "cannot create a temporary folder", pattern);
    path_ = pattern;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Rows that have an order of their own are counted, and the first of them encoded: what is wrong with them is told before
// anything is written.
PreparedSplit ordered(const SplitRequest& split, const PrepareRequest& request, const Json& facts) {
  constexpr int64_t kMostEncoded = 10'000;
  const Recipe& recipe = request.recipe;
  const ColumnRule columns = recipe.columns(split.split);
  const auto open = [&] { return open_rows(split.files.rows, {.columns = columns}); };
  Records records(columns.columns);
  int64_t rows = 0;
  for (const auto source = open(); source->next(records); records.clear()) ++rows;
  std::vector<int64_t> order = recipe.order(rows, split.split, split.share, split.max_samples);
  PreparedSplit guess;
  guess.exact = false;
  guess.samples = guess.tokens = static_cast<int64_t>(order.size());
  if (recipe.reads_text) return guess;
  const std::unique_ptr<Encoder> encoder = recipe.encoder(nullptr, split.split, facts);
  const auto chosen = row_order(open(), columns.columns, std::move(order));
  for (int64_t row = 0; row < kMostEncoded && chosen->next(records); ++row, records.clear()) {
    Features features{.columns = std::vector<FeatureValues>(encoder->schema().size())};
    encoder->encode(records, features);
  }
  return guess;
}

PreparedSplit guessed(const SplitRequest& split, const PrepareRequest& request) {
  constexpr uint64_t kBytesPerToken = 4;
  constexpr int64_t kTokensPerRow = 64;  // where rows stay as they are
  const auto packing = request.recipe.packing ? request.recipe.packing(split.split) : std::nullopt;
  const int64_t sample = packs(request) ? request.block_size : packing ? packing->longest : kTokensPerRow;
  uint64_t tokens = text_bytes(split) / kBytesPerToken;
  for (const std::string& prefix : split.files.token_prefixes) tokens += bytes_of_file(prefix + ".bin") / 2;
  if (split.share == RowShare::kHeldOut)
    tokens = tokens * static_cast<uint64_t>(split.hold_out_percent) / 100;
  if (split.share == RowShare::kAfterHeldOut)
    tokens = tokens * static_cast<uint64_t>(100 - split.hold_out_percent) / 100;
  PreparedSplit guess;
  guess.exact = false;
  guess.samples = std::max<int64_t>(1, static_cast<int64_t>(tokens) / sample);
  if (split.max_samples) guess.samples = std::min(guess.samples, *split.max_samples);
  guess.tokens = guess.samples * sample;
  return guess;
}

// As prepare() makes it, and with its errors about data and flags; the result is thrown away. No place for it is no
// obstacle to the run, which keeps its data elsewhere.
PreparedSplit counted(const SplitRequest& split, const PrepareRequest& request,
                      const TokenizerLoader& load_tokenizer, const Json& facts) {
  PrepareRequest alone = request;
  alone.workers = 1;
  const PrepareObserver nobody;
  try {
    const ScratchFolder folder;
    PreparedSplit made =
        *SplitBuilder(alone, load_tokenizer, nobody).build(split, folder.path() + "/tokens", facts);
    made.cache_path.clear();
    made.exact = false;  // of no blocks that are there
    return made;
  } catch (const Error& error) {
    if (error.code() == ExitCode::kData || error.code() == ExitCode::kUsage) throw;
    return guessed(split, request);
  }
}

}  // namespace

std::string cache_folder(const Environment& environment) {
  const auto set = [&](const char* name) {
    const auto value = environment.get(name);
    return value && !value->empty() ? value : std::nullopt;
  };
  if (const auto folder = set("HFTRAIN_CACHE")) return *folder;
  if (const auto folder = set("XDG_CACHE_HOME")) return *folder + "/hftrain";
  if (const auto folder = set("HOME")) return *folder + "/.cache/hftrain";
  throw Error(ExitCode::kEnvironment, "there is no place for the token cache")
      .why("none of HFTRAIN_CACHE, XDG_CACHE_HOME and HOME is set")
      .hint("set HFTRAIN_CACHE to a folder");
}

std::optional<PreparedData> find_prepared(const PrepareRequest& request) {
  check(request);
  if (request.overwrite_cache) return std::nullopt;
  const std::vector<SplitRequest> splits = splits_of(request);
  if (splits.empty()) return PreparedData{};
  if (has_text(request, splits) && request.tokenizer_folder.empty())
    return std::nullopt;  // of a plan without a tokenizer
  return TokenCache(request.cache_folder).find(key_of(request, splits));
}

std::optional<PreparedData> prepare(const PrepareRequest& request, const TokenizerLoader& load_tokenizer,
                                    const PrepareObserver& observer) {
  check(request);
  const std::vector<SplitRequest> splits = splits_of(request);
  if (splits.empty()) return PreparedData{};
  warn_of_repeated_files(splits, observer.logger);
  const std::string key = key_of(request, splits);
  const TokenCache cache(request.cache_folder);
  if (!request.overwrite_cache) {
    auto found = cache.find(key);
    if (found && TokenCache::hold(*found)) return found;
    if (!found && path_exists(cache.folder_of(key))) {
      observer.logger.warning("the token cache " + cache.folder_of(key) + " is damaged and is made again");
    }
  }
  cache.remove_abandoned();
  TokenCache::Staging staging(cache.tokens_folder());
  const PrepareRequest settled = with_columns_of_first_file(request);
  SplitBuilder builder(settled, load_tokenizer, observer);
  PreparedData data;
  const std::optional<Json> facts = builder.survey(survey_files(request));
  if (!facts) return std::nullopt;
  data.facts = *facts;
  for (const SplitRequest& split : splits) {
    member_of(data, split) = builder.build(split, staging.folder() + '/' + name_of(split), data.facts);
    if (!member_of(data, split)) return std::nullopt;
  }
  return cache.publish(key, staging, data, made_from(request, splits), request.overwrite_cache);
}

void look_at_stream(const PrepareRequest& request) {
  SplitRequest split{Split::kTrain, false, find_data_files(request.train_files, Split::kTrain)};
  look_at_heads(split, with_columns_of_first_file(request));
}

PreparedData estimate_prepared(const PrepareRequest& asked, const TokenizerLoader& load_tokenizer) {
  check(asked);
  const PrepareRequest request = with_columns_of_first_file(asked);
  PreparedData data;
  data.facts = *SplitBuilder(request, load_tokenizer, {}).survey(survey_files(request));
  for (const SplitRequest& split : splits_of(request)) {
    if (split.max_samples && *split.max_samples <= 0) throw no_samples_asked(split);
    look_at_heads(split, request);
    std::optional<PreparedSplit>& guess = member_of(data, split);
    if (request.recipe.order) {
      guess = ordered(split, request, data.facts);
    } else if (load_tokenizer && is_small(split, request)) {
      guess = counted(split, request, load_tokenizer, data.facts);
    } else {
      if (load_tokenizer && may_be_short(split, request)) {
        SplitRequest first = split;
        first.max_samples = 1;
        counted(first, request, load_tokenizer, data.facts);  // an Error without one
      }
      guess = guessed(split, request);
    }
  }
  return data;
}

int64_t percent_of_rows(int percent, int64_t rows) {
  // The same double arithmetic as Python's round(percent * rows / 100.0).
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(percent * rows) / 100.0));
}

}  // namespace hftrain::data

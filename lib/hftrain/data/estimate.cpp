#include "hftrain/data/estimate.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/first_rows.h"
#include "hftrain/data/prepared_folder.h"
#include "hftrain/data/row_source.h"
#include "hftrain/data/sample_order.h"
#include "hftrain/data/settled_columns.h"
#include "hftrain/data/split_builder.h"

namespace hftrain::data {
namespace {

namespace fs = std::filesystem;

uint64_t uncompressed_size(const std::string& path) {
  constexpr uint64_t kTextCompresses = 3;  // what gzip and zstd do to plain text, about
  const uint64_t size = bytes_of_file(path);
  return path.ends_with(".gz") || path.ends_with(".zst") || path.ends_with(".parquet")
             ? size * kTextCompresses
             : size;
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
  const auto packing = request.recipe.packing_of(split.split);
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

// Token files that are read in a second or two.
bool is_quickly_read(const SplitRequest& split) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  return split.files.tokenized() && bytes_of(split.files) <= kMostBytes;
}

PreparedSplit measured(const SplitRequest& split, const PrepareRequest& request) {
  PreparedSplit made = *SplitBuilder(request, {}, {}).measure_tokens(split);
  made.cache_path.clear();
  made.exact = false;
  return made;
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

PreparedData estimate_prepared(const PrepareRequest& asked, const TokenizerLoader& load_tokenizer) {
  check_block_size(asked);
  if (const auto folder = folder_of_samples(asked)) return take_samples(*folder, asked, load_tokenizer);
  const std::vector<SplitRequest> splits = splits_of(asked);
  const PrepareRequest request = with_settled_columns(asked);
  PreparedData data;
  data.facts = *SplitBuilder(request, load_tokenizer, {}).survey(survey_files(request));
  for (const SplitRequest& split : splits) {
    look_at_first_rows(split, request);
    std::optional<PreparedSplit>& guess = member_of(data, split);
    if (request.recipe.order) {
      guess = ordered(split, request, data.facts);
    } else if (is_quickly_read(split)) {
      guess = measured(split, request);
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

}  // namespace hftrain::data

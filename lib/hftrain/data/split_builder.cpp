#include "hftrain/data/split_builder.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/data/encode_pool.h"
#include "hftrain/data/row_source.h"
#include "hftrain/data/token_dataset.h"

namespace hftrain::data {
namespace {

constexpr size_t kChunkBytes = 256 << 10;
constexpr size_t kChunksPerThread = 4;
constexpr double kSecondsBetweenReports = 0.2;
constexpr int64_t kRowsBetweenChecks = 1024;

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

// Reads rows of the current group until the chunk is large enough or the group ends. False when no row is
// left.
bool read_chunk(RowSource& rows, int64_t& rows_in_group, RowChunk& chunk) {
  while (chunk.text.size() < kChunkBytes && rows_in_group < kRowsPerGroup) {
    if (!rows.next(chunk.text)) break;
    chunk.row_ends.push_back(chunk.text.size());
    ++rows_in_group;
  }
  if (rows_in_group == kRowsPerGroup) {
    chunk.ends_group = true;
    rows_in_group = 0;
  }
  return !chunk.row_ends.empty();
}

// The token files of a split as one row of sequences.
class SequenceList {
 public:
  explicit SequenceList(const std::vector<std::string>& prefixes) {
    for (const std::string& prefix : prefixes) {
      files_.push_back(TokenDataset::open(prefix));
      size_ += files_.back()->size();
    }
  }
  int64_t size() const { return size_; }

  // Calls visit(ids) for sequences [begin, end) until it returns false.
  template <typename Visit>
  void visit(int64_t begin, int64_t end, Visit visit) const {
    int64_t first = 0;  // number of the file's first sequence
    for (const auto& file : files_) {
      for (int64_t i = std::max(begin, first); i < std::min(end, first + file->size()); ++i) {
        std::vector<int64_t> ids(static_cast<size_t>(file->length(i - first)));
        file->copy_to(i - first, ids.data());
        if (!visit(ids)) return;
      }
      first += file->size();
    }
  }

 private:
  std::vector<std::unique_ptr<TokenDataset>> files_;
  int64_t size_ = 0;
};

// What a look at all ids tells.
struct SequenceFacts {
  int64_t smallest_id = 0;
  int64_t largest_id = 0;
  int64_t tokens = 0;
  bool all_full_blocks = true;
};

}  // namespace

Error no_block(const SplitRequest& split, int64_t tokens, int64_t block_size) {
  const std::string name = long_name(split.split);
  Error error(ExitCode::kData, tokens == 0 ? "the " + name + " data is empty"
                                           : "the " + name + " data does not fill a single block");
  error.where(split.files.paths().front());
  if (tokens > 0) {
    error
        .why(with_thousands(tokens) + " tokens, joined in groups of " + std::to_string(kRowsPerGroup) +
             " rows; a block takes " + with_thousands(block_size))
        .hint("choose a smaller --block_size, or add data");
  }
  return error;
}

std::optional<PreparedSplit> SplitBuilder::build(const SplitRequest& split, const std::string& prefix) {
  return split.files.tokenized() ? build_from_tokens(split, prefix) : build_from_text(split, prefix);
}

void SplitBuilder::report(const SplitRequest& split, PrepareProgress::Stage stage, uint64_t bytes_done,
                          int64_t tokens) {
  if (!observer_.progress) return;
  const double now = monotonic_seconds();
  if (now - last_report_ < kSecondsBetweenReports) return;
  last_report_ = now;
  uint64_t total = 0;
  for (const std::string& path : split.files.paths()) total += std::filesystem::file_size(path);
  observer_.progress({stage, split.split, bytes_done, total, tokens});
}

std::optional<int64_t> SplitBuilder::count_rows(const SplitRequest& split) {
  const auto rows = open_rows(split.files.rows, {request_.keep_linebreaks});
  std::string text;
  int64_t count = 0;
  while (rows->next(text)) {
    text.clear();
    if (++count % kRowsBetweenChecks != 0) continue;
    if (stopped()) return std::nullopt;
    report(split, PrepareProgress::Stage::kCountingRows, rows->file_position(), 0);
  }
  return count;
}

SplitBuilder::RowRange SplitBuilder::range_of(const SplitRequest& split, int64_t rows) const {
  const int64_t held_out = percent_of_rows(split.hold_out_percent, rows);
  if (held_out == 0 || held_out == rows) {
    throw Error(ExitCode::kData, "the training data is too small to hold out validation data from it")
        .where("--validation_split_percentage")
        .why(std::to_string(split.hold_out_percent) + " % of " + std::to_string(rows) + " rows is " +
             (held_out == 0 ? "none" : "all of them"))
        .hint("choose another percentage, or name a --validation_file");
  }
  return split.share == RowShare::kHeldOut ? RowRange{0, held_out} : RowRange{held_out, -1};
}

std::optional<PreparedSplit> SplitBuilder::build_from_text(const SplitRequest& split,
                                                           const std::string& prefix) {
  RowRange range;
  if (split.share != RowShare::kAll) {
    if (!training_rows_) training_rows_ = count_rows(split);
    if (!training_rows_) return std::nullopt;
    range = range_of(split, *training_rows_);
  }
  if (!tokenizer_) tokenizer_ = load_tokenizer_();
  TokenWriter writer(prefix, tokenizer_->vocab_size());
  BlockPacker packer(request_.block_size, split.max_blocks, writer);
  const auto rows =
      row_window(open_rows(split.files.rows, {request_.keep_linebreaks}), range.begin, range.end);
  if (!encode_rows(split, *rows, packer)) return std::nullopt;
  return finish(split, packer, writer, prefix);
}

bool SplitBuilder::encode_rows(const SplitRequest& split, RowSource& rows, BlockPacker& packer) {
  const size_t threads = request_.workers > 0 ? static_cast<size_t>(request_.workers)
                                              : std::max(1u, std::thread::hardware_concurrency());
  EncodePool pool(*tokenizer_, threads);
  const auto take = [&] {
    const RowChunk chunk = pool.take();
    packer.add(chunk.ids);
    if (chunk.ends_group) packer.end_group();
  };
  int64_t rows_in_group = 0;
  while (!packer.full()) {
    if (stopped()) return false;
    RowChunk chunk;
    if (!read_chunk(rows, rows_in_group, chunk)) break;
    pool.give(std::move(chunk));
    if (pool.size() >= threads * kChunksPerThread) take();
    report(split, PrepareProgress::Stage::kTokenizing, rows.file_position(), packer.tokens_seen());
  }
  while (pool.size() > 0 && !packer.full()) {
    if (stopped()) return false;
    take();
  }
  return true;
}

std::optional<PreparedSplit> SplitBuilder::build_from_tokens(const SplitRequest& split,
                                                             const std::string& prefix) {
  const SequenceList sequences(split.files.token_prefixes);
  RowRange range;
  if (split.share != RowShare::kAll) range = range_of(split, sequences.size());
  if (range.end < 0) range.end = sequences.size();
  SequenceFacts facts;
  sequences.visit(range.begin, range.end, [&](const std::vector<int64_t>& ids) {
    facts.all_full_blocks = facts.all_full_blocks && static_cast<int64_t>(ids.size()) == request_.block_size;
    facts.tokens += static_cast<int64_t>(ids.size());
    for (const int64_t id : ids) {
      facts.smallest_id = std::min(facts.smallest_id, id);
      facts.largest_id = std::max(facts.largest_id, id);
    }
    return !stopped();
  });
  if (stopped()) return std::nullopt;
  if (facts.smallest_id < 0 || facts.largest_id >= std::numeric_limits<int32_t>::max()) {
    const int64_t id = facts.smallest_id < 0 ? facts.smallest_id : facts.largest_id;
    throw Error(ExitCode::kData, "a token file holds numbers that are no token ids")
        .where(split.files.token_prefixes.front() + ".bin")
        .why("one of them is " + std::to_string(id));
  }
  // Grouping leaves sequences of exactly one block as they are, so such a file is used where it lies.
  const bool as_it_is = facts.all_full_blocks && split.files.token_prefixes.size() == 1 &&
                        !split.max_blocks && split.share == RowShare::kAll && sequences.size() > 0;
  if (as_it_is) {
    const std::string place = std::filesystem::absolute(split.files.token_prefixes.front()).string();
    return PreparedSplit{place, sequences.size(), facts.tokens, facts.largest_id, true};
  }
  TokenWriter writer(prefix, facts.largest_id + 1);
  BlockPacker packer(request_.block_size, split.max_blocks, writer);
  int64_t rows_in_group = 0;
  sequences.visit(range.begin, range.end, [&](const std::vector<int64_t>& ids) {
    packer.add(std::vector<int32_t>(ids.begin(), ids.end()));
    if (++rows_in_group == kRowsPerGroup) {
      packer.end_group();
      rows_in_group = 0;
    }
    return !packer.full() && !stopped();
  });
  if (stopped()) return std::nullopt;
  return finish(split, packer, writer, prefix);
}

PreparedSplit SplitBuilder::finish(const SplitRequest& split, const BlockPacker& packer, TokenWriter& writer,
                                   const std::string& prefix) const {
  if (writer.sequences() == 0) throw no_block(split, packer.tokens_seen(), request_.block_size);
  writer.finish();
  return {prefix, writer.sequences(), writer.tokens(), writer.largest_id(), true};
}

}  // namespace hftrain::data

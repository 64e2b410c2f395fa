// Makes the columns of one split.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/data/block_packer.h"
#include "hftrain/data/column_writer.h"
#include "hftrain/data/encoder.h"
#include "hftrain/data/feature_sink.h"
#include "hftrain/data/prepare_request.h"
#include "hftrain/data/split_request.h"
#include "hftrain/data/token_sequences.h"

namespace hftrain::data {

// Used by one thread; the tokenizer is loaded when the first text is met and kept for the other splits.
class SplitBuilder {
 public:
  SplitBuilder(const PrepareRequest& request, const TokenizerLoader& load_tokenizer,
               const PrepareObserver& observer)
      : request_(request), load_tokenizer_(load_tokenizer), observer_(observer) {}

  // What the recipe's survey finds in these files, to be given to build(); null without a survey. Nothing
  // when the observer's stop became true.
  std::optional<Json> survey(const DataFiles& files);

  // Writes PREFIX.bin and PREFIX.idx, and those of other columns beside them (feature_sink.h), or names the
  // user's own token file when that already is what is wanted. Nothing when the observer's stop became true.
  std::optional<PreparedSplit> build(const SplitRequest& split, const std::string& prefix,
                                     const Json& facts = nullptr);
  // What build() makes of token files, without writing any.
  std::optional<PreparedSplit> measure_tokens(const SplitRequest& split);

  // Null before a text was met.
  const tokenizer::Tokenizer* tokenizer() const { return tokenizer_.get(); }

 private:
  struct RowRange {
    int64_t begin = 0;
    int64_t end = -1;  // -1: all that follow
  };

  struct TokensOfSplit {
    SequenceList sequences;
    RowRange range;
    int64_t largest_id = 0, count = 0;
    bool all_full_blocks = true;
  };
  // Nothing, or false, when the observer's stop became true.
  std::optional<TokensOfSplit> look_at_tokens(const SplitRequest& split) const;
  bool pack(const TokensOfSplit& tokens, BlockPacker& packer) const;
  static bool lies_in_blocks(const SplitRequest& split, const TokensOfSplit& tokens);
  static PreparedSplit split_where_it_lies(const SplitRequest& split, const TokensOfSplit& tokens);

  using Writers = std::vector<std::unique_ptr<ColumnWriter>>;

  std::optional<PreparedSplit> build_from_rows(const SplitRequest& split, const std::string& prefix,
                                               const Json& facts);
  std::optional<PreparedSplit> build_from_tokens(const SplitRequest& split, const std::string& prefix);
  std::optional<int64_t> count_rows(const SplitRequest& split);
  RowRange range_of(const SplitRequest& split, int64_t rows) const;
  // The rows of a split in the order that they are to be encoded in. Nothing when the observer's stop became true.
  std::unique_ptr<RowSource> rows_of(const SplitRequest& split);
  std::unique_ptr<FeatureSink> sink_for(const SplitRequest& split, const FeatureSchema& schema,
                                        const std::string& prefix, Writers& writers) const;
  std::unique_ptr<FeatureSink> keeper_for(const SplitRequest& split, const FeatureSchema& schema,
                                          const std::string& prefix, Writers& writers) const;
  RowOptions row_options(Split split) const;
  static void check_all(const SplitRequest& split, const Encoder& encoder);
  bool encode_rows(const SplitRequest& split, RowSource& rows, const Encoder& encoder, FeatureSink& sink);
  PreparedSplit finish(const SplitRequest& split, const FeatureSink& sink, const FeatureSchema& schema,
                       Writers& writers, const std::string& prefix,
                       const std::vector<Remark>& remarks = {}) const;
  void report(const SplitRequest& split, PrepareProgress::Stage stage, uint64_t bytes_done, int64_t tokens) {
    report(split.files, split.split, stage, bytes_done, tokens);
  }
  void report(const DataFiles& files, Split split, PrepareProgress::Stage stage, uint64_t bytes_done,
              int64_t tokens);
  bool stopped() const {
    return observer_.stop != nullptr && observer_.stop->load(std::memory_order_relaxed);
  }

  const PrepareRequest& request_;
  const TokenizerLoader& load_tokenizer_;
  const PrepareObserver& observer_;
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
  std::optional<int64_t> training_rows_;  // counted once for both shares of the training rows
  double last_report_ = 0;
  std::optional<std::pair<Split, uint64_t>> total_bytes_;  // of the split that was reported last
};

}  // namespace hftrain::data

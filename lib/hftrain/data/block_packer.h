// Cuts token ids into blocks for causal language modelling, as run_clm does with
// `datasets.map(batched=True)`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hftrain/data/feature_sink.h"

namespace hftrain::data {

// Rows of this many are joined; what is left over at the end of such a group is dropped. It is the batch size
// of `datasets.map`.
inline constexpr int64_t kRowsPerGroup = 1000;

// Used by one thread. Holds less than one block.
class BlockPacker final : public FeatureSink {
 public:
  // Blocks go to `writer`, which outlives the packer; after `max_blocks` of them nothing more is written.
  BlockPacker(int64_t block_size, std::optional<int64_t> max_blocks, ColumnWriter& writer)
      : block_size_(static_cast<size_t>(block_size)), max_blocks_(max_blocks), writer_(writer) {}

  void add(const Features& features) override { add(features.columns.front().integers); }
  void add(std::span<const int32_t> ids);
  void end_group() override;

  // All blocks that were asked for are there: further text cannot change the result.
  bool full() const override { return max_blocks_ && writer_.sequences() >= *max_blocks_; }
  int64_t tokens_seen() const override { return tokens_seen_; }

 private:
  void write(std::span<const int32_t> block) {
    if (!full()) writer_.add(block);
  }

  size_t block_size_;
  std::optional<int64_t> max_blocks_;
  ColumnWriter& writer_;
  std::vector<int32_t> open_block_;
  int64_t tokens_seen_ = 0;
};

}  // namespace hftrain::data

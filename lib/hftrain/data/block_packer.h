// Cuts token ids into blocks for causal language modelling, as run_clm does with
// `datasets.map(batched=True)`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hftrain/data/token_writer.h"

namespace hftrain::data {

// Rows of this many are joined; what is left over at the end of such a group is dropped. It is the batch size
// of `datasets.map`.
inline constexpr int64_t kRowsPerGroup = 1000;

// Used by one thread. Holds less than one block.
class BlockPacker {
 public:
  // Blocks go to `writer`, which outlives the packer; after `max_blocks` of them nothing more is written.
  BlockPacker(int64_t block_size, std::optional<int64_t> max_blocks, TokenWriter& writer)
      : block_size_(static_cast<size_t>(block_size)), max_blocks_(max_blocks), writer_(writer) {}

  void add(std::span<const int32_t> ids);
  void end_group();

  // All blocks that were asked for are there: further text cannot change the result.
  bool full() const { return max_blocks_ && writer_.sequences() >= *max_blocks_; }
  int64_t tokens_seen() const { return tokens_seen_; }

 private:
  void write(std::span<const int32_t> block) {
    if (!full()) writer_.add(block);
  }

  size_t block_size_;
  std::optional<int64_t> max_blocks_;
  TokenWriter& writer_;
  std::vector<int32_t> open_block_;
  int64_t tokens_seen_ = 0;
};

}  // namespace hftrain::data

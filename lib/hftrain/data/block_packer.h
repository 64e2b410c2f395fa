// Cuts token ids into blocks for language modelling, as run_clm and run_mlm do with
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

// Used by one thread. Holds less than one block of each column.
class BlockPacker final : public FeatureSink {
 public:
  // Blocks go to the writers, one a column, which outlive the packer; after `max_blocks` of them nothing more is
  // written. Where there are several columns their sequences are of one length each.
  BlockPacker(int64_t block_size, std::optional<int64_t> max_blocks,
              const std::vector<SequenceWriter*>& writers);

  void add(const Features& features) override;
  void add(std::span<const int32_t> ids);  // of the first column
  void end_group() override;

  // All blocks that were asked for are there: further text cannot change the result.
  bool full() const override { return is_full(columns_.front()); }
  bool at_rest() const override { return columns_.front().open_block.empty(); }
  int64_t tokens_seen() const override { return tokens_seen_; }

 private:
  struct PackedColumn {
    SequenceWriter& writer;
    std::vector<int32_t> open_block = {};
  };
  bool is_full(const PackedColumn& column) const {
    return max_blocks_ && column.writer.sequences() >= *max_blocks_;
  }
  void add_to(PackedColumn& column, std::span<const int32_t> numbers) const;
  void write(const PackedColumn& column, std::span<const int32_t> block) const {
    if (!is_full(column)) column.writer.add(block);
  }

  size_t block_size_;
  std::optional<int64_t> max_blocks_;
  std::vector<PackedColumn> columns_;
  int64_t tokens_seen_ = 0;
};

}  // namespace hftrain::data

#include "hftrain/data/block_packer.h"

#include <algorithm>

namespace hftrain::data {

BlockPacker::BlockPacker(int64_t block_size, std::optional<int64_t> max_blocks,
                         const std::vector<SequenceWriter*>& writers)
    : block_size_(static_cast<size_t>(block_size)), max_blocks_(max_blocks) {
  for (SequenceWriter* writer : writers) columns_.push_back({*writer});
}

void BlockPacker::add(const Features& features) {
  tokens_seen_ += static_cast<int64_t>(features.columns.front().integers.size());
  for (size_t i = 0; i < columns_.size(); ++i) add_to(columns_[i], features.columns[i].integers);
}

void BlockPacker::add(std::span<const int32_t> ids) {
  tokens_seen_ += static_cast<int64_t>(ids.size());
  add_to(columns_.front(), ids);
}

void BlockPacker::add_to(PackedColumn& column, std::span<const int32_t> numbers) const {
  std::vector<int32_t>& open = column.open_block;
  if (!open.empty()) {
    const size_t taken = std::min(numbers.size(), block_size_ - open.size());
    open.insert(open.end(), numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(taken));
    numbers = numbers.subspan(taken);
    if (open.size() < block_size_) return;
    write(column, open);
    open.clear();
  }
  for (; numbers.size() >= block_size_; numbers = numbers.subspan(block_size_))
    write(column, numbers.first(block_size_));
  open.assign(numbers.begin(), numbers.end());
}

void BlockPacker::end_group() {
  for (PackedColumn& column : columns_) column.open_block.clear();
}

}  // namespace hftrain::data

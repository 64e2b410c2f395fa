#include "hftrain/data/block_packer.h"

#include <algorithm>

namespace hftrain::data {

void BlockPacker::add(std::span<const int32_t> ids) {
  tokens_seen_ += static_cast<int64_t>(ids.size());
  if (!open_block_.empty()) {
    const size_t taken = std::min(ids.size(), block_size_ - open_block_.size());
    open_block_.insert(open_block_.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(taken));
    ids = ids.subspan(taken);
    if (open_block_.size() < block_size_) return;
    write(open_block_);
    open_block_.clear();
  }
  for (; ids.size() >= block_size_; ids = ids.subspan(block_size_)) write(ids.first(block_size_));
  open_block_.assign(ids.begin(), ids.end());
}

void BlockPacker::end_group() {
  open_block_.clear();
}

}  // namespace hftrain::data

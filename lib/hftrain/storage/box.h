// Boxes: rectangular parts of dense row-major tensors, and copies between them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace hftrain::storage {

// Both vectors have one entry per dim. Without dims: the one number of a scalar.
struct Box {
  std::vector<int64_t> offsets;
  std::vector<int64_t> sizes;
  bool operator==(const Box&) const = default;
};

uint64_t volume(const Box& box);
// The common part of two boxes of equal rank; nullopt when it is empty.
std::optional<Box> overlap(const Box& a, const Box& b);
// Consecutive row groups of a box, each of at most `most` numbers or one row. None of an empty box.
std::vector<Box> row_groups(const Box& box, uint64_t most);

// Copies `common`, which lies in both boxes, from the bytes of `from` to those of `to`; a number has `width`
// bytes. `source` is mapped from a file: pages are let go once they are copied, so that a process never holds
// more than a few megabytes of a file, however large the box.
void copy_mapped_box(const Box& common, const Box& from, const char* source, const Box& to, char* target,
                     uint64_t width);

}  // namespace hftrain::storage

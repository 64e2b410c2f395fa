#include "hftrain/storage/box.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "hftrain/base/file.h"

namespace hftrain::storage {
namespace {

// Of a mapped file, between two calls that let its pages go.
constexpr uint64_t kHeldBytes = uint64_t{4} << 20;

uint64_t product(const std::vector<int64_t>& sizes, size_t first_dim) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(first_dim), sizes.end(), uint64_t{1},
                         [](uint64_t all, int64_t size) { return all * static_cast<uint64_t>(size); });
}

// Numbers before `place` in a dense row-major box.
uint64_t position(const Box& box, const std::vector<int64_t>& place) {
  uint64_t index = 0;
  for (size_t dim = 0; dim < box.sizes.size(); ++dim) {
    index =
        index * static_cast<uint64_t>(box.sizes[dim]) + static_cast<uint64_t>(place[dim] - box.offsets[dim]);
  }
  return index;
}

// Copies forwards through a mapped file.
class MappedCopy {
 public:
  explicit MappedCopy(const char* begin) : held_(begin) {}
  void copy(char* target, const char* source, uint64_t bytes) {
    while (bytes > 0) {
      const uint64_t piece = std::min(bytes, kHeldBytes);
      std::memcpy(target, source, piece);
      target += piece;
      source += piece;
      bytes -= piece;
      if (static_cast<uint64_t>(source - held_) >= kHeldBytes) release(source);
    }
    end_ = source;
  }
  ~MappedCopy() { release(end_); }
  MappedCopy(const MappedCopy&) = delete;
  MappedCopy& operator=(const MappedCopy&) = delete;

 private:
  void release(const char* end) {
    if (end <= held_) return;
    release_mapped({held_, static_cast<size_t>(end - held_)});
    held_ = end;
  }

  const char* held_;  // what comes before is let go
  const char* end_ = nullptr;
};

// Trailing dims that lie whole in both boxes are copied at once, together with the dim before them.
size_t first_dim_of_run(const Box& common, const Box& from, const Box& to) {
  size_t dim = common.sizes.size();
  while (dim > 0) {
    --dim;
    if (common.sizes[dim] != from.sizes[dim] || common.sizes[dim] != to.sizes[dim]) break;
  }
  return dim;
}

// The next place, as an odometer whose wheels are the dims before `dims`; false when it has gone round.
bool advance(std::vector<int64_t>& place, const Box& common, size_t dims) {
  for (size_t dim = dims; dim-- > 0;) {
    if (++place[dim] < common.offsets[dim] + common.sizes[dim]) return true;
    place[dim] = common.offsets[dim];
  }
  return false;
}

}  // namespace

uint64_t volume(const Box& box) {
  return product(box.sizes, 0);
}

std::optional<Box> overlap(const Box& a, const Box& b) {
  Box common = a;
  for (size_t dim = 0; dim < a.sizes.size(); ++dim) {
    const int64_t begin = std::max(a.offsets[dim], b.offsets[dim]);
    const int64_t end = std::min(a.offsets[dim] + a.sizes[dim], b.offsets[dim] + b.sizes[dim]);
    if (end <= begin) return std::nullopt;
    common.offsets[dim] = begin;
    common.sizes[dim] = end - begin;
  }
  return common;
}

std::vector<Box> row_groups(const Box& box, uint64_t most) {
  const uint64_t numbers = volume(box);
  if (numbers == 0) return {};
  if (box.sizes.empty()) return {box};
  const auto rows = static_cast<uint64_t>(box.sizes[0]);
  const auto step = static_cast<int64_t>(std::clamp<uint64_t>(most / (numbers / rows), 1, rows));
  std::vector<Box> groups;
  for (int64_t row = 0; row < box.sizes[0]; row += step) {
    groups.push_back(box);
    groups.back().offsets[0] += row;
    groups.back().sizes[0] = std::min(step, box.sizes[0] - row);
  }
  return groups;
}

void copy_mapped_box(const Box& common, const Box& from, const char* source, const Box& to, char* target,
                     uint64_t width) {
  const size_t outer = first_dim_of_run(common, from, to);
  const uint64_t run = width * product(common.sizes, outer);
  std::vector<int64_t> place = common.offsets;
  MappedCopy mapped(source + position(from, place) * width);
  do {
    mapped.copy(target + position(to, place) * width, source + position(from, place) * width, run);
  } while (advance(place, common, outer));
}

}  // namespace hftrain::storage

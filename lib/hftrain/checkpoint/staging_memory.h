// Host memory for the copy of a rank's files: positions 0 to size(), in chunks, because a pinned allocator
// hands out powers of two. It only grows, and what has been touched once costs no more page faults.
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hftrain::checkpoint {

// One thread at a time.
class StagingMemory {
 public:
  // `pinned`: where copies from a device run in the background; null on the CPU. Must outlive the object.
  explicit StagingMemory(c10::Allocator* pinned) : pinned_(pinned) {}

  // Room for `bytes` in all. Its pages come when they are first written to. Error(kHostMemory); of pinned memory what
  // LibTorch throws.
  void grow(uint64_t bytes);
  // Writes to every page of `chunk`, so that the first save finds it there: takes as long as the kernel needs
  // to find and zero the memory.
  void touch(size_t chunk);
  size_t chunks() const { return chunks_.size(); }
  uint64_t size() const { return chunks_.size() * kChunk; }

  // As many bytes from `position` on, at most `most`, as lie in one piece.
  std::span<std::byte> at(uint64_t position, uint64_t most) const;

  static constexpr uint64_t kChunk = uint64_t{64} << 20;

 private:
  c10::Allocator* pinned_;
  std::vector<c10::DataPtr> chunks_;
};

}  // namespace hftrain::checkpoint

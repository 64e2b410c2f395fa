// Memory whose contents lie in a file without a name: pages come when they are touched and may be sent away,
// and nothing is lost by it. For what is used by ordinary code in place, where an AsyncFile is for what is
// moved through buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hftrain::storage {

// Zeros at first. The kernel writes pages to the disk and reads them when it sees fit. A disk that fails
// while a page is being read ends the process by SIGBUS; space is reserved, so a full one does not.
class ScratchMap {
 public:
  // Error(kDisk) when the space is not there or the folder cannot be made; Error(kEnvironment) when no file can be
  // made in it or mapped.
  ScratchMap(const std::string& directory, uint64_t bytes);
  ScratchMap(const ScratchMap&) = delete;
  ScratchMap& operator=(const ScratchMap&) = delete;
  ~ScratchMap();

  std::byte* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  // Any thread; `part` is of this map.
  void ask_for(std::span<const std::byte> part) const noexcept;  // reading begins; returns at once
  void let_go(std::span<const std::byte> part) const noexcept;   // whole pages of it leave resident memory

 private:
  std::byte* data_ = nullptr;
  size_t size_;
};

}  // namespace hftrain::storage

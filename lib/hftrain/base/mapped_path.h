// Which file is mapped at an address of this process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hftrain {

// May be used in signal handlers: reads /proc/self/maps without allocating.
class MappedPath {
 public:
  // False when no file is mapped there. A path that is longer than there is room for is cut.
  bool find(uint64_t address);
  const char* text() const noexcept { return text_; }  // not ended by a zero
  size_t size() const noexcept { return size_; }

 private:
  std::array<char, 2048> line_;
  const char* text_ = nullptr;
  size_t size_ = 0;
};

}  // namespace hftrain

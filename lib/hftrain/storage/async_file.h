// A scratch file of fixed size that is read and written in the background: memory for what does not fit in
// memory. It has no name, so nothing is left of it however the process ends.
//
//   AsyncFile file({.directory = "/nvme", .bytes = total});
//   const AsyncFile::Token token = file.read(offset, buffer.span());
//   …                                                        // the processor is free meanwhile
//   file.wait(token);
//
// Operations are cut into blocks of which `queue_depth` are with the kernel at a time, in the order in which
// they were asked for. Blocks whose place in the file, place in memory and size are multiples of kAlignment
// pass by the page cache (O_DIRECT) where the file system allows that; all others go through it.
// A failure is Error(kDisk) from the wait for the operation, naming folder, operation and place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace hftrain::storage {

struct AsyncFileOptions {
  // kAutomatic: io_uring where the kernel and the container allow it, else threads.
  enum class Engine { kAutomatic, kRing, kThreads };

  std::string directory;  // is created when missing
  uint64_t bytes = 0;     // reserved at once
  int64_t block_bytes = 1 << 20;
  int64_t queue_depth = 8;
  Engine engine = Engine::kAutomatic;
  bool direct = true;  // false: always through the page cache
};

class BlockQueue;
class BlockEngine;
struct ScratchFile;

// Used by one thread. Operations that overlap must not be under way at the same time when one of them writes.
// A place that was never written reads as zeros.
class AsyncFile {
 public:
  using Token = uint64_t;  // 0: nothing to wait for
  static constexpr size_t kAlignment = 4096;

  // Error(kDisk) when the space is not there or the folder cannot be made; Error(kEnvironment) when no file can be
  // made in it, or kRing is asked for and refused by the system.
  explicit AsyncFile(const AsyncFileOptions& options);
  AsyncFile(const AsyncFile&) = delete;
  AsyncFile& operator=(const AsyncFile&) = delete;
  // Blocks that have not begun are dropped; the others are waited for.
  ~AsyncFile();

  // The memory belongs to the operation until it was waited for. Past the end of the file: Error(kInternal).
  Token read(uint64_t offset, std::span<std::byte> into);
  Token write(uint64_t offset, std::span<const std::byte> from);
  // Returns when the operation is over. Waiting again is fine.
  void wait(Token token);
  // For everything under way; throws the first failure.
  void wait_all();

  uint64_t bytes() const noexcept { return bytes_; }
  // Whether aligned blocks pass by the page cache.
  bool direct() const noexcept;
  // "io_uring" or "threads".
  const char* engine() const noexcept;

 private:
  void check_range(uint64_t offset, size_t count) const;

  std::string directory_;
  uint64_t bytes_;
  std::unique_ptr<ScratchFile> file_;
  std::unique_ptr<BlockQueue> queue_;
  std::unique_ptr<BlockEngine> engine_;  // last: it uses the others
};

// Page-aligned memory that goes back to the system as soon as it is freed, whatever the heap keeps.
class PageBuffer {
 public:
  PageBuffer() = default;
  // Zeros, resident only once touched. Error(kHostMemory) when there is no address space left.
  explicit PageBuffer(size_t bytes);
  PageBuffer(PageBuffer&& other) noexcept;
  PageBuffer& operator=(PageBuffer&& other) noexcept;
  ~PageBuffer();

  std::byte* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  std::span<std::byte> span() const noexcept { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace hftrain::storage

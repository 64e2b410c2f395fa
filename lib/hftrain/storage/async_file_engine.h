// What moves the blocks of an AsyncFile between memory and the file.
#pragma once

#include <memory>
#include <string>

#include "hftrain/base/file.h"
#include "hftrain/storage/async_file.h"
#include "hftrain/storage/async_file_queue.h"

namespace hftrain::storage {

// One file without a name, open twice: through the page cache and, where that works, past it.
struct ScratchFile {
  FileDescriptor cached, direct;

  // The descriptor that can take this block.
  int descriptor_for(const Block& block) const noexcept {
    const auto place = block.offset | reinterpret_cast<uintptr_t>(block.data) | block.bytes;
    return direct && place % AsyncFile::kAlignment == 0 ? direct.get() : cached.get();
  }
};

// A file without a name in `directory`, which is created when missing, with `bytes` bytes of zeros whose
// space is reserved. Errors as AsyncFile's.
FileDescriptor open_scratch_file(const std::string& directory, uint64_t bytes);

// Takes blocks from the queue on threads of its own. The destructor waits for those that were taken; the
// queue must have been stopped before.
class BlockEngine {
 public:
  virtual ~BlockEngine() = default;
  virtual const char* name() const noexcept = 0;
};

// io_uring with `depth` entries, driven by one thread. nullptr with errno when the system refuses it.
std::unique_ptr<BlockEngine> make_ring_engine(BlockQueue& queue, const ScratchFile& file, unsigned depth);
// Up to 32 threads that call pread and pwrite.
std::unique_ptr<BlockEngine> make_thread_engine(BlockQueue& queue, const ScratchFile& file, unsigned depth);

}  // namespace hftrain::storage

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/storage/async_file_engine.h"

namespace hftrain::storage {
namespace {

constexpr unsigned kMostThreads = 32;

int64_t move_block(int descriptor, const Block& block) {
  const auto offset = static_cast<off_t>(block.offset);
  const ssize_t moved = block.write ? ::pwrite(descriptor, block.data, block.bytes, offset)
                                    : ::pread(descriptor, block.data, block.bytes, offset);
  return moved < 0 ? -errno : moved;
}

class ThreadEngine final : public BlockEngine {
 public:
  ThreadEngine(BlockQueue& queue, const ScratchFile& file, unsigned depth) {
    const auto work = [&queue, &file] {
      while (const auto block = queue.take(/*wait=*/true)) {
        queue.finish(*block, move_block(file.descriptor_for(*block), *block));
      }
    };
    try {
      for (unsigned i = 0; i < std::clamp(depth, 1U, kMostThreads); ++i) threads_.emplace_back(work);
    } catch (const std::system_error& error) {  // fewer do as well
      if (threads_.empty())
        throw system_error(error.code().value(), "cannot start a thread for", "a scratch file");
    }
  }
  const char* name() const noexcept override { return "threads"; }

 private:
  std::vector<std::jthread> threads_;  // join when destroyed
};

}  // namespace

std::unique_ptr<BlockEngine> make_thread_engine(BlockQueue& queue, const ScratchFile& file, unsigned depth) {
  return std::make_unique<ThreadEngine>(queue, file, depth);
}

}  // namespace hftrain::storage

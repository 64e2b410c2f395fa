#include "hftrain/storage/async_file_queue.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::storage {

BlockQueue::BlockQueue(std::string place, size_t block_bytes, size_t alignment)
    : place_(std::move(place)),
      block_bytes_((std::max(block_bytes, alignment) + alignment - 1) / alignment * alignment),
      alignment_(alignment) {}

uint64_t BlockQueue::add(bool write, uint64_t offset, std::byte* data, size_t bytes) {
  if (bytes == 0) return 0;
  const std::lock_guard lock(mutex_);
  const uint64_t token = ++last_token_;
  operations_[token].rest = {token, write, offset, data, bytes};
  uncut_.push_back(token);
  work_.notify_all();
  return token;
}

void BlockQueue::wait(uint64_t token) {
  std::unique_lock lock(mutex_);
  progress_.wait(lock, [&] {
    const auto found = operations_.find(token);
    return found == operations_.end() || found->second.over();
  });
  const auto node = operations_.extract(token);
  if (!node.empty()) report(node.mapped());
}

void BlockQueue::wait_all() {
  std::unique_lock lock(mutex_);
  progress_.wait(lock, [&] {
    return std::all_of(operations_.begin(), operations_.end(),
                       [](const auto& entry) { return entry.second.over(); });
  });
  const auto finished = std::exchange(operations_, {});
  for (const auto& [token, operation] : finished) report(operation);
}

std::optional<Block> BlockQueue::take(bool wait) {
  std::unique_lock lock(mutex_);
  if (wait) work_.wait(lock, [&] { return stopped_ || !uncut_.empty() || !leftovers_.empty(); });
  if (stopped_) return std::nullopt;
  return next_block();
}

std::optional<Block> BlockQueue::next_block() {
  if (!leftovers_.empty()) {
    const Block block = leftovers_.front();
    leftovers_.pop_front();
    return block;  // still counted as in flight
  }
  if (uncut_.empty()) return std::nullopt;
  Operation& operation = operations_.at(uncut_.front());
  const Block block = cut(operation);
  ++operation.in_flight;
  if (operation.rest.bytes == 0) uncut_.pop_front();
  return block;
}

Block BlockQueue::cut(Operation& operation) const {
  Block block = operation.rest;
  const size_t past = block.offset % alignment_;
  block.bytes = std::min(block.bytes, past != 0 ? alignment_ - past : block_bytes_);
  if (block.bytes > alignment_) block.bytes -= block.bytes % alignment_;
  operation.rest.offset += block.bytes;
  operation.rest.data += block.bytes;
  operation.rest.bytes -= block.bytes;
  return block;
}

void BlockQueue::finish(const Block& block, int64_t result) {
  const std::lock_guard lock(mutex_);
  Operation& operation = operations_.at(block.token);
  if (result == -EINTR || result == -EAGAIN)
    result = 0;
  else if (result == 0)
    result = -ENODATA;  // the file ends here, or the device takes no more
  if (result < 0) {
    fail(operation, block, static_cast<int>(-result));
  } else if (const auto moved = static_cast<size_t>(result); moved < block.bytes && operation.error == 0) {
    leftovers_.push_back(
        {block.token, block.write, block.offset + moved, block.data + moved, block.bytes - moved});
    work_.notify_one();
    return;
  }
  --operation.in_flight;
  if (operation.over()) progress_.notify_all();
}

void BlockQueue::fail(Operation& operation, const Block& block, int error) {
  if (operation.error == 0) {
    operation.error = error;
    operation.failed = block;
  }
  if (operation.rest.bytes == 0) return;
  operation.rest.bytes = 0;
  uncut_.erase(std::find(uncut_.begin(), uncut_.end(), block.token));
}

void BlockQueue::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  work_.notify_all();
}

void BlockQueue::report(const Operation& operation) const {
  if (operation.error == 0) return;
  const Block& block = operation.failed;
  const std::string bytes = std::to_string(block.bytes) + " bytes at " + std::to_string(block.offset);
  throw system_error(operation.error,
                     (block.write ? "cannot write " : "cannot read ") + bytes + " of the scratch file in",
                     place_, ExitCode::kDisk)
      .hint("look at the state of that disk, or name another nvme_path");
}

}  // namespace hftrain::storage

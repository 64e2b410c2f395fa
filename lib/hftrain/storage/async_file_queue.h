// What AsyncFile and its engines share: the operations asked for, cut into blocks on demand, and what became
// of them. However large an operation is, it takes one small record here.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace hftrain::storage {

// One request to the kernel.
struct Block {
  uint64_t token = 0;  // of its operation
  bool write = false;
  uint64_t offset = 0;
  std::byte* data = nullptr;
  size_t bytes = 0;
};

// Any thread may call anything.
class BlockQueue {
 public:
  // `place` names the file in errors. Blocks begin and end at multiples of `alignment` of the file, where
  // their operation does not.
  BlockQueue(std::string place, size_t block_bytes, size_t alignment);

  uint64_t add(bool write, uint64_t offset, std::byte* data, size_t bytes);
  // Error(kDisk) when a block of the operation failed.
  void wait(uint64_t token);
  void wait_all();

  // For engines. nullopt: nothing to do now, or with `wait`, the queue was stopped.
  std::optional<Block> take(bool wait);
  // `result` is what the system call said: bytes moved, or -errno. What a short one left over is handed out
  // again.
  void finish(const Block& block, int64_t result);
  // Nothing is handed out any more.
  void stop();

 private:
  struct Operation {
    Block rest;  // not yet cut
    int in_flight = 0;
    int error = 0;  // errno of the first failure
    Block failed;
    bool over() const { return in_flight == 0 && rest.bytes == 0; }
  };
  Block cut(Operation& operation) const;
  std::optional<Block> next_block();
  void fail(Operation& operation, const Block& block, int error);
  void report(const Operation& operation) const;

  std::string place_;
  size_t block_bytes_, alignment_;
  std::mutex mutex_;
  std::condition_variable work_, progress_;
  std::map<uint64_t, Operation> operations_;
  std::deque<uint64_t> uncut_;  // tokens of operations with a rest, oldest first
  std::deque<Block> leftovers_;
  uint64_t last_token_ = 0;
  bool stopped_ = false;
};

}  // namespace hftrain::storage

// Threads that encode chunks of rows; the results come back in the order the chunks were given.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "hftrain/data/encoder.h"

namespace hftrain::data {

// Some consecutive rows of one group, and what they became once encoded.
struct RowChunk {
  Records records;  // given up when they are encoded
  int64_t rows = 0;
  bool ends_group = false;
  Features features;
};

// Used by one thread, which gives and takes. Its owner bounds the memory by how many chunks it leaves in the
// pool.
class EncodePool {
 public:
  // `encoder` outlives the pool. Where the system gives fewer threads than `threads`, those it gives do the
  // work; Error(kEnvironment) when it gives none. `stop`: true ends all waiting; null: nothing does.
  EncodePool(const Encoder& encoder, size_t threads, const std::atomic<bool>* stop = nullptr);
  // Gives up chunks that nobody has taken, in the middle of a text too.
  ~EncodePool();

  void give(RowChunk chunk);
  // The oldest chunk that has not been taken, waiting for it; an exception of the encoder is thrown here. Nothing where
  // it would have to wait and `stop` is true.
  std::optional<RowChunk> take();
  size_t size() const { return ordered_.size(); }

 private:
  struct Job {
    RowChunk chunk;
    bool done = false;
    std::exception_ptr failure;
  };

  void start(size_t threads);
  void close();
  void work();
  void encode(RowChunk& chunk) const;

  const Encoder& encoder_;
  const std::atomic<bool>* stop_;
  const size_t columns_;                      // of features
  std::deque<std::shared_ptr<Job>> ordered_;  // the owner's: given and not yet taken
  std::mutex mutex_;
  std::condition_variable work_arrived_;
  std::condition_variable job_done_;
  std::deque<std::shared_ptr<Job>> waiting_;
  std::atomic<bool> closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hftrain::data

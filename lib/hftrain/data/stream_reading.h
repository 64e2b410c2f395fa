// The thread behind a stream: reads rows, encodes them and hands samples over, a bounded number ahead of who takes them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "hftrain/data/encoder.h"
#include "hftrain/data/feature_sink.h"
#include "hftrain/data/memory_samples.h"
#include "hftrain/data/stream_spec.h"

namespace hftrain::data {

// What the epochs of a stream have in common. Immutable.
struct StreamSource {
  StreamSpec spec;
  Recipe recipe;
  std::shared_ptr<const Encoder> encoder;
  ChangedTime time = ChangedTime::kMatters;  // of files, on the machine that reads them
};

// A place where reading can begin: what is behind it became these samples and nothing else.
struct StreamMark {
  int64_t rows = 0;     // of the epoch, without those held out
  int64_t samples = 0;  // that they became
  bool operator==(const StreamMark&) const = default;
};

// run() is called by one thread, all else by the owner's. Shared by both: a thread that a disk does not let go may outlive
// its owner, who has told it to stop by then.
class StreamReading {
 public:
  StreamReading(const StreamSource& source, int64_t ahead, StreamMark begin);

  void run();
  // Nobody wants more.
  void stop();
  bool over_within(std::chrono::milliseconds patience);

  // See SampleStream.
  bool settles(int64_t count, std::chrono::milliseconds patience);
  int64_t wait_for(int64_t count);
  bool has(int64_t count);
  std::vector<MemorySample> take(int64_t count);
  StreamMark mark_before(int64_t samples);
  int64_t tokens_seen() const { return tokens_seen_; }
  int64_t rows_read() const { return rows_read_.load(std::memory_order_relaxed); }

 private:
  void read();
  std::unique_ptr<FeatureSink> make_sink();
  void check_all() const;
  std::unique_ptr<RowSource> open();
  // Hands samples to the owner and waits until there is room for more.
  void hand_over();
  void set_mark(int64_t rows);
  void want(int64_t count);           // holding the mutex
  bool settled(int64_t count) const;  // holding the mutex

  const StreamSource source_;
  const FeatureSchema schema_;
  const int64_t ahead_;
  const StreamMark begin_;
  std::vector<std::unique_ptr<MemoryWriter>> writers_;  // the thread's
  int64_t handed_over_;                                 // its samples
  std::atomic<int64_t> tokens_seen_ = 0, rows_read_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<MemorySample> ready_;
  std::deque<StreamMark> marks_;        // rising; the first one is at or before what was asked for last
  int64_t wanted_ = 0;                  // by who waits, which may be more than `ahead`
  std::atomic<bool> stopping_ = false;  // set holding the mutex
  bool finished_ = false;
  std::exception_ptr failure_;
};

}  // namespace hftrain::data

// The samples of one epoch of a stream, in their order: rows are read and encoded on threads of their own, a bounded
// number of samples ahead of who takes them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
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

// Made and used by one thread. Memory is bounded by `ahead` samples, what a group of rows makes of them at once
// (kRowsPerGroup rows), a few chunks of text and the longest row, whatever the files hold.
class SampleStream {
 public:
  // Begins behind `begin`; the rows before are read and not encoded. `source` outlives it.
  SampleStream(const StreamSource& source, int64_t ahead, StreamMark begin = {});
  // Ends the reading wherever it is.
  ~SampleStream();
  SampleStream(const SampleStream&) = delete;
  SampleStream& operator=(const SampleStream&) = delete;

  // Waits until `count` samples can be taken, or as many as are left; how many that is. What is wrong with a row that was
  // read before so many were there is an Error.
  int64_t wait_for(int64_t count);
  // wait_for(count) would return at once. False where it is going to throw.
  bool has(int64_t count);
  // The next samples: as many as wait_for() has said there are, or fewer.
  std::vector<MemorySample> take(int64_t count);

  // The next one's number.
  int64_t position() const { return position_; }
  // The last place that it has come by at which at most `samples` lie behind; earlier ones are forgotten.
  StreamMark mark_before(int64_t samples);
  int64_t tokens_seen() const { return tokens_seen_; }  // of all rows; once the end was reached

 private:
  void run();
  void read();
  std::unique_ptr<FeatureSink> make_sink();
  void check_all() const;
  std::unique_ptr<RowSource> open() const;
  // Hands samples to the owner and waits until there is room for more.
  void hand_over();
  void set_mark(int64_t rows);
  bool settled(int64_t count) const;  // holding the mutex

  const StreamSource& source_;
  const FeatureSchema schema_;
  const int64_t ahead_;
  const StreamMark begin_;
  std::vector<std::unique_ptr<MemoryWriter>> writers_;  // the reading thread's
  int64_t handed_over_, tokens_seen_ = 0;               // its samples, and input_ids
  int64_t position_;                                    // the owner's
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<MemorySample> ready_;
  std::deque<StreamMark> marks_;        // rising; the first one is at or before what was asked for last
  int64_t wanted_ = 0;                  // by who waits, which may be more than `ahead`
  std::atomic<bool> stopping_ = false;  // set holding the mutex
  bool finished_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace hftrain::data

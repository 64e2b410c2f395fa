// The samples of one epoch of a stream, in their order: rows are read and encoded on threads of their own, a bounded
// number of samples ahead of who takes them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "hftrain/data/stream_reading.h"

namespace hftrain::data {

// Made and used by one thread. Memory is bounded by `ahead` samples, what a group of rows makes of them at once
// (kRowsPerGroup rows), a few chunks of text and the longest row, whatever the files hold.
class SampleStream {
 public:
  // Begins behind `begin`; the rows before are read and not encoded.
  SampleStream(const StreamSource& source, int64_t ahead, StreamMark begin = {});
  // Ends the reading wherever it is. A thread that a disk or a network holds is left behind after a second: it ends when
  // it is let go, or with the process.
  ~SampleStream();
  SampleStream(const SampleStream&) = delete;
  SampleStream& operator=(const SampleStream&) = delete;

  // Whether wait_for(count) would return at once, or does so within `patience`.
  bool settles(int64_t count, std::chrono::milliseconds patience) {
    return reading_->settles(count, patience);
  }
  // Waits until `count` samples can be taken, or as many as are left; how many that is. What is wrong with a row that was
  // read before so many were there is an Error.
  int64_t wait_for(int64_t count) { return reading_->wait_for(count); }
  // wait_for(count) would return at once. False where it is going to throw.
  bool has(int64_t count) { return reading_->has(count); }
  // The next samples: as many as wait_for() has said there are, or fewer.
  std::vector<MemorySample> take(int64_t count);

  // The next one's number.
  int64_t position() const { return position_; }
  // The last place that it has come by at which at most `samples` lie behind; earlier ones are forgotten.
  StreamMark mark_before(int64_t samples) { return reading_->mark_before(samples); }
  int64_t tokens_seen() const { return reading_->tokens_seen(); }  // of all rows; once the end was reached
  // Of the files so far, those that are passed over too: what grows while the disk gives something.
  int64_t rows_read() const { return reading_->rows_read(); }

 private:
  std::shared_ptr<StreamReading> reading_;
  int64_t position_;
  std::thread thread_;
};

}  // namespace hftrain::data

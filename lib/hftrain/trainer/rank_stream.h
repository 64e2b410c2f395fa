// A stream of samples as a rank waits for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hftrain/data/sample_stream.h"
#include "hftrain/trainer/data_wait.h"

namespace hftrain::trainer {

// As SampleStream, but that waiting ends when the run is to stop, too. Used by the main thread.
class RankStream {
 public:
  RankStream(const data::StreamSource& source, int64_t ahead, data::StreamMark begin,
             std::shared_ptr<const DataWait> wait)
      : wait_(std::move(wait)), stream_(source, ahead, begin) {}

  // Nothing: the run is to stop.
  std::optional<int64_t> wait_for(int64_t count);
  bool has(int64_t count) { return stream_.has(count); }
  std::vector<data::MemorySample> take(int64_t count) { return stream_.take(count); }
  // Leaves out the samples before that number, `at_once` at a time, or all that there are; false: the run is to stop.
  bool pass_to(int64_t number, int64_t at_once);

  int64_t position() const { return stream_.position(); }
  data::StreamMark mark_before(int64_t samples) { return stream_.mark_before(samples); }
  int64_t tokens_seen() const { return stream_.tokens_seen(); }

 private:
  std::shared_ptr<const DataWait> wait_;
  data::SampleStream stream_;
};

}  // namespace hftrain::trainer

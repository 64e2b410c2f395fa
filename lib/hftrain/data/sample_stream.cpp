#include "hftrain/data/sample_stream.h"

namespace hftrain::data {
namespace {

constexpr std::chrono::milliseconds kPatienceWithReader{1000};

}  // namespace

SampleStream::SampleStream(const StreamSource& source, int64_t ahead, StreamMark begin)
    : reading_(std::make_shared<StreamReading>(source, ahead, begin)), position_(begin.samples) {
  thread_ = std::thread([reading = reading_] { reading->run(); });
}

SampleStream::~SampleStream() {
  reading_->stop();
  if (reading_->over_within(kPatienceWithReader)) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

std::vector<MemorySample> SampleStream::take(int64_t count) {
  std::vector<MemorySample> samples = reading_->take(count);
  position_ += static_cast<int64_t>(samples.size());
  return samples;
}

}  // namespace hftrain::data

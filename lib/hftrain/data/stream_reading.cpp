#include "hftrain/data/stream_reading.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/data/block_packer.h"
#include "hftrain/data/row_encoding.h"

namespace hftrain::data {
namespace {

// Smaller than those of a preparation: the first update waits for the first of them.
constexpr size_t kStreamChunkBytes = 32 << 10;
constexpr size_t kStreamChunksPerThread = 2;

FeatureSchema schema_of_samples(const StreamSource& source) {
  return packed_schema(source.encoder->schema(), source.recipe.packing_of(Split::kTrain));
}

// The rows of `source` until nobody wants more, counted: also those that somebody behind this one passes over.
class WantedRows final : public RowSource {
 public:
  WantedRows(std::unique_ptr<RowSource> source, const std::atomic<bool>& stop, std::atomic<int64_t>& rows)
      : source_(std::move(source)), stop_(stop), rows_(rows) {}

  bool next(Records& records) override {
    if (stop_.load(std::memory_order_relaxed) || !source_->next(records)) return false;
    rows_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  uint64_t file_position() const override { return source_->file_position(); }
  std::vector<std::string> class_names(size_t column) const override { return source_->class_names(column); }

 private:
  std::unique_ptr<RowSource> source_;
  const std::atomic<bool>& stop_;
  std::atomic<int64_t>& rows_;
};

}  // namespace

StreamReading::StreamReading(const StreamSource& source, int64_t ahead, StreamMark begin)
    : source_(source),
      schema_(schema_of_samples(source)),
      ahead_(std::max<int64_t>(1, ahead)),
      begin_(begin),
      handed_over_(begin.samples),
      marks_{begin} {
  for (size_t column = 0; column < schema_.size(); ++column)
    writers_.push_back(std::make_unique<MemoryWriter>(begin.samples));
}

void StreamReading::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

bool StreamReading::over_within(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return finished_; });
}

bool StreamReading::settled(int64_t count) const {
  return finished_ || static_cast<int64_t>(ready_.size()) >= count;
}

void StreamReading::want(int64_t count) {
  wanted_ = count;
  changed_.notify_all();
}

bool StreamReading::settles(int64_t count, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  want(count);
  return changed_.wait_for(lock, patience, [&] { return settled(count); });
}

int64_t StreamReading::wait_for(int64_t count) {
  std::unique_lock lock(mutex_);
  want(count);
  changed_.wait(lock, [&] { return settled(count); });
  const auto there = static_cast<int64_t>(ready_.size());
  if (there < count && failure_) std::rethrow_exception(failure_);
  return std::min(there, count);
}

bool StreamReading::has(int64_t count) {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(ready_.size()) >= count || (finished_ && !failure_);
}

std::vector<MemorySample> StreamReading::take(int64_t count) {
  std::vector<MemorySample> samples;
  {
    const std::lock_guard lock(mutex_);
    for (; count > 0 && !ready_.empty(); --count) {
      samples.push_back(std::move(ready_.front()));
      ready_.pop_front();
    }
  }
  changed_.notify_all();
  return samples;
}

void StreamReading::run() {
  std::exception_ptr failure;
  try {
    read();
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    finished_ = true;
  }
  changed_.notify_all();
}

void StreamReading::read() {
  for (const FileStamp& file : source_.spec.files) check_stamp(file, source_.time);
  const std::unique_ptr<RowSource> rows = open();
  const std::unique_ptr<FeatureSink> sink = make_sink();
  const RowEncoding how = {.threads = static_cast<size_t>(std::max<int64_t>(1, source_.spec.threads)),
                           .chunk_bytes = kStreamChunkBytes,
                           .chunks_per_thread = kStreamChunksPerThread,
                           .stop = &stopping_,
                           .sunk = [&](int64_t sunk, bool ends_group) {
                             hand_over();
                             if (ends_group && sink->at_rest()) set_mark(begin_.rows + sunk);
                           }};
  const size_t columns = source_.recipe.columns(Split::kTrain).columns;
  if (!encode_rows(*rows, columns, *source_.encoder, source_.recipe, how, *sink) || stopping_) return;
  check_all();
  sink->finish();
  tokens_seen_ = sink->tokens_seen();
  for (const FileStamp& file : source_.spec.files) check_stamp(file, source_.time);
  hand_over();
}

// What is true of all rows is known to whoever has read all of them.
void StreamReading::check_all() const {
  if (begin_.rows > 0 || source_.spec.by_files) return;
  try {
    source_.encoder->check_all();
  } catch (Error& error) {
    throw error.where(source_.spec.files.front().path);
  }
}

std::unique_ptr<RowSource> StreamReading::open() {
  const StreamSpec& spec = source_.spec;
  std::vector<RowFile> files;
  for (const FileStamp& file : spec.files) files.push_back({file.path, file.format});
  auto rows = open_rows(std::move(files), {.keep_linebreaks = spec.keep_linebreaks,
                                           .columns = source_.recipe.columns(Split::kTrain)});
  rows = std::make_unique<WantedRows>(std::move(rows), stopping_, rows_read_);
  if (spec.hold_out_percent > 0)
    rows = rows_of_hundreds(std::move(rows), spec.hold_out_percent, HundredPart::kRest);
  rows = row_window(std::move(rows), begin_.rows, -1);
  if (const auto look = source_.recipe.watch ? source_.recipe.watch(Split::kTrain) : nullptr)
    rows = watched_rows(std::move(rows), look);
  return rows;
}

std::unique_ptr<FeatureSink> StreamReading::make_sink() {
  const StreamSpec& spec = source_.spec;
  std::vector<SequenceWriter*> writers;
  for (const auto& writer : writers_) writers.push_back(writer.get());
  if (source_.recipe.arrangement == Arrangement::kPack)
    return std::make_unique<BlockPacker>(spec.block_size, spec.max_samples, writers);
  auto keeper = std::make_unique<RowKeeper>(schema_, std::move(writers), spec.max_samples);
  const auto packing = source_.recipe.packing_of(Split::kTrain);
  if (!packing) return keeper;
  return std::make_unique<DocumentPacker>(*packing, source_.encoder->schema().size(), std::move(keeper));
}

void StreamReading::hand_over() {
  std::vector<std::vector<MemorySequence>> columns;
  for (const auto& writer : writers_) columns.push_back(writer->take());
  std::unique_lock lock(mutex_);
  for (size_t sample = 0; sample < columns.front().size(); ++sample) {
    std::vector<MemorySequence> held;
    for (auto& column : columns) held.push_back(std::move(column[sample]));
    ready_.push_back({handed_over_++, std::make_shared<const std::vector<MemorySequence>>(std::move(held))});
  }
  changed_.notify_all();
  changed_.wait(
      lock, [this] { return stopping_ || static_cast<int64_t>(ready_.size()) < std::max(ahead_, wanted_); });
}

void StreamReading::set_mark(int64_t rows) {
  const std::lock_guard lock(mutex_);
  marks_.push_back({rows, handed_over_});
}

StreamMark StreamReading::mark_before(int64_t samples) {
  const std::lock_guard lock(mutex_);
  while (marks_.size() > 1 && marks_[1].samples <= samples) marks_.pop_front();
  return marks_.front();
}

}  // namespace hftrain::data

// TensorBoard event files, written by hand: records of a length, a checksum, an Event message and its
// checksum. Format: tensorflow/core/lib/io/record_writer.cc, tensorflow/core/util/event.proto
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "hftrain/base/file.h"
#include "hftrain/reporting/protobuf.h"
#include "hftrain/reporting/record_sink.h"

namespace hftrain::reporting {

// CRC-32C rotated and offset, as the record format wants it.
uint32_t masked_crc32c(std::string_view bytes);

// Writes <directory>/events.out.tfevents.<seconds>.<host>.<pid>.<n>; a resumed run adds a file of its own.
// Numbers become scalars (the epoch as train/epoch), strings text; anything else is left out with one warning
// per metric.
class TensorBoardSink final : public RecordSink {
 public:
  using Warn = std::function<void(const std::string&)>;

  // `time`: Unix seconds of the start. Creates missing folders.
  TensorBoardSink(const std::string& directory, double time, Warn warn);

  // A text item of the run as a whole: "args", "model_config".
  void text(const std::string& name, const std::string& content, double time);
  // All arguments of the run, an object: what the dashboard HPARAMS shows of it.
  void hparams(const Json& arguments, double time);
  void record(const LogRecord& record) override;
  // How the run ended, for that dashboard.
  void end(RunEnd how) override;

  const std::string& path() const noexcept { return path_; }

 private:
  void write_of_run(const ProtobufMessage& value, double time);
  void write_record(std::string_view event);

  std::string path_;
  FileDescriptor file_;
  Warn warn_;
  double newest_;  // Unix seconds of the newest record
  std::set<std::string> warned_;
};

}  // namespace hftrain::reporting

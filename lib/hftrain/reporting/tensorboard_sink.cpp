#include "hftrain/reporting/tensorboard_sink.h"

#include <fcntl.h>
#include <isa-l/crc.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/reporting/metric_tag.h"
#include "hftrain/reporting/protobuf.h"
#include "hftrain/reporting/tensorboard_summary.h"

namespace hftrain::reporting {
namespace {

// Field numbers of event.proto and summary.proto.
constexpr int kEventTime = 1, kEventStep = 2, kEventVersion = 3, kEventSummary = 5;
constexpr int kSummaryValue = 1;

std::string event_path(const std::string& directory, double time) {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  const std::string stem = directory + "/events.out.tfevents." + std::to_string(static_cast<int64_t>(time)) +
                           '.' + host + '.' + std::to_string(::getpid()) + '.';
  int n = 0;
  while (path_exists(stem + std::to_string(n))) ++n;
  return stem + std::to_string(n);
}

}  // namespace

uint32_t masked_crc32c(std::string_view bytes) {
  // crc32_iscsi takes an int and a pointer to non-const, and reads only; it neither starts nor ends
  // complemented.
  uint32_t crc = ~uint32_t{0};
  constexpr size_t kLargest = size_t{1} << 30;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kLargest);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(piece.data()));
    crc = ::crc32_iscsi(data, static_cast<int>(piece.size()), crc);
    bytes.remove_prefix(piece.size());
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

TensorBoardSink::TensorBoardSink(const std::string& directory, double time, Warn warn)
    : warn_(std::move(warn)), newest_(time) {
  create_directories(directory);
  path_ = event_path(directory, time);
  file_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
  if (!file_) throw system_error(errno, "cannot create", path_, ExitCode::kDisk);
  write_record(ProtobufMessage().float64(kEventTime, time).bytes(kEventVersion, "brain.Event:2").encoded());
}

void TensorBoardSink::text(const std::string& name, const std::string& content, double time) {
  write_of_run(text_summary(name, content), time);
}

void TensorBoardSink::hparams(const Json& arguments, double time) {
  write_of_run(session_start_summary(arguments, time), time);
}

void TensorBoardSink::end(RunEnd how) {
  write_of_run(session_end_summary(how, newest_), newest_);
}

void TensorBoardSink::record(const LogRecord& record) {
  newest_ = record.time;
  ProtobufMessage summary;
  for (const auto& [key, value] : record.metrics.items()) {
    if (value.is_number() || value.is_boolean()) {
      const double number = value.is_boolean() ? (value.get<bool>() ? 1.0 : 0.0) : value.get<double>();
      summary.message(kSummaryValue, scalar_summary(metric_tag(key), number));
    } else if (value.is_string()) {
      summary.message(kSummaryValue, text_summary(metric_tag(key), value.get<std::string>()));
    } else if (warned_.insert(key).second) {
      warn_("the metric '" + key + "' is neither number nor text and is left out");
    }
  }
  summary.message(kSummaryValue, scalar_summary(metric_tag("epoch"), record.epoch));
  write_record(ProtobufMessage()
                   .float64(kEventTime, record.time)
                   .varint(kEventStep, static_cast<uint64_t>(record.step))
                   .message(kEventSummary, summary)
                   .encoded());
}

void TensorBoardSink::write_of_run(const ProtobufMessage& value, double time) {
  const ProtobufMessage summary = ProtobufMessage().message(kSummaryValue, value);
  write_record(ProtobufMessage().float64(kEventTime, time).message(kEventSummary, summary).encoded());
}

void TensorBoardSink::write_record(std::string_view event) {
  const std::string length = little_endian(event.size(), 8);
  std::string bytes = length + little_endian(masked_crc32c(length), 4);
  bytes += event;
  bytes += little_endian(masked_crc32c(event), 4);
  write_all(file_.get(), bytes, path_);
}

}  // namespace hftrain::reporting

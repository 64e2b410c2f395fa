#include "hftrain/reporting/jsonl_sink.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/reporting/append_file.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

constexpr std::string_view kBegin = R"({"step": )";  // of every record

// What is behind the last newline; nothing where the file is not there or cannot be looked at, as is told when it is opened.
std::string tail_of(const std::string& path, uint64_t bytes) {
  std::ifstream file(path, std::ios::binary);
  constexpr uint64_t kMost = 1 << 20;  // a record has some kilobytes
  file.seekg(static_cast<std::streamoff>(bytes > kMost ? bytes - kMost : 0));
  const std::string end((std::istreambuf_iterator<char>(file)), {});
  return end.substr(end.rfind('\n') + 1);  // all of it without one
}

// A record that a killed process or a full disk has left unfinished: what reads lines would end at it. Anything else stays as it is.
void cut_torn_record(const std::string& path) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes == 0) return;
  const std::string tail = tail_of(path, bytes);
  const std::string_view begin = std::string_view(tail).substr(0, kBegin.size());
  if (tail.empty() || !kBegin.starts_with(begin) || Json::accept(tail)) return;
  std::filesystem::resize_file(path, bytes - tail.size(), error);
  if (error) throw system_error(error.value(), "cannot shorten", path, ExitCode::kDisk);
}

std::string without_torn_record(const std::string& path) {
  cut_torn_record(path);
  return path;
}

}  // namespace

JsonlSink::JsonlSink(const std::string& path)
    : path_(without_torn_record(path)), file_(open_for_lines(path)) {}

void JsonlSink::record(const LogRecord& record) {
  std::string line = std::string(kBegin) + std::to_string(record.step) + R"(, "epoch": )" +
                     python_json(record.epoch, -1) + R"(, "time": )" + python_json(record.time, -1);
  for (const auto& [key, value] : record.metrics.items()) {
    line += ", " + python_json(key, -1) + ": " + python_json(value, -1);
  }
  write_all(file_.get(), line + "}\n", path_);
}

}  // namespace hftrain::reporting

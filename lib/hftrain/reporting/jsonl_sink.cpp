#include "hftrain/reporting/jsonl_sink.h"

#include "hftrain/reporting/append_file.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {

JsonlSink::JsonlSink(const std::string& path) : path_(path), file_(open_for_lines(path)) {}

void JsonlSink::record(const LogRecord& record) {
  std::string line = R"({"step": )" + std::to_string(record.step) + R"(, "epoch": )" +
                     python_json(record.epoch, -1) + R"(, "time": )" + python_json(record.time, -1);
  for (const auto& [key, value] : record.metrics.items()) {
    line += ", " + python_json(key, -1) + ": " + python_json(value, -1);
  }
  write_all(file_.get(), line + "}\n", path_);
}

}  // namespace hftrain::reporting

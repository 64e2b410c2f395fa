#include "hftrain/reporting/log_history.h"

#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {

LogHistory::LogHistory(const Json& records) {
  if (!records.is_array()) return;
  for (const Json& record : records) add(record);
}

void LogHistory::add(const Json& record) {
  if (!text_.empty()) text_ += ",\n";
  text_ += "    ";
  for (const char character : python_json(record, 2)) {
    text_ += character;
    if (character == '\n') text_ += "    ";
  }
}

std::string LogHistory::text() const {
  return empty() ? "[]" : "[\n" + text_ + "\n  ]";
}

Json LogHistory::records() const {
  return parse_json(text(), "the log of this run");
}

}  // namespace hftrain::reporting

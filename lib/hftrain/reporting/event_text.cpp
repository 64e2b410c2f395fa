#include "hftrain/reporting/event_text.h"

#include "hftrain/base/json_member.h"
#include "hftrain/reporting/console_text.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

std::string checkpoint_line(const Json& data) {
  const std::string seconds = python_general(number_of(data, "seconds").value_or(0), 3);
  const std::optional<double> stall = number_of(data, "stall_seconds");
  return "Saving model checkpoint to " + json_text(data, "path") + " (committed after " + seconds + " s" +
         (stall ? ", training waited " + python_general(*stall, 3) + " s)" : ")");
}

std::string text_of_event(std::string_view name, const Json& data) {
  if (name == "checkpoint") return checkpoint_line(data);
  if (name == "metrics") return json_text(data, "text");
  if (name == "message") {
    const std::string word = level_word(static_cast<LogLevel>(integer_of(data, "level")));
    return word.empty() ? json_text(data, "text") : word + ' ' + json_text(data, "text");
  }
  const auto record = name == "log" ? data.find("record") : data.end();
  return record != data.end() && record->is_object() ? log_line(*record) : "";
}

}  // namespace

int64_t integer_of(const Json& data, const char* name) {
  const auto found = data.find(name);
  return found != data.end() && found->is_number() ? found->get<int64_t>() : 0;
}

std::optional<double> number_of(const Json& data, const char* name) {
  const auto found = data.find(name);
  if (found == data.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string level_word(LogLevel level) {
  if (level < LogLevel::kWarning) return "";
  return level >= LogLevel::kError ? "error:" : "warning:";
}

std::string event_lines(std::string_view name, const Json& data) {
  std::string lines = text_of_event(name, data);
  if (!lines.empty() && lines.back() != '\n') lines += '\n';
  return lines;
}

}  // namespace hftrain::reporting

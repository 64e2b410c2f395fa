#include "hftrain/base/log_level.h"

#include <array>
#include <utility>

#include "hftrain/base/text.h"

namespace hftrain {
namespace {

// The first name of a level is its own.
constexpr std::array<std::pair<LogLevel, std::string_view>, 6> kNames = {{{LogLevel::kDebug, "debug"},
                                                                          {LogLevel::kInfo, "info"},
                                                                          {LogLevel::kWarning, "warning"},
                                                                          {LogLevel::kError, "error"},
                                                                          {LogLevel::kCritical, "critical"},
                                                                          {LogLevel::kDebug, "detail"}}};

}  // namespace

LogLevel log_level_named(std::string_view word, LogLevel otherwise) {
  const std::string lower = to_lower(word);
  for (const auto& [level, name] : kNames) {
    if (lower == name) return level;
  }
  return otherwise;
}

std::string log_level_name(LogLevel level) {
  for (const auto& [known, name] : kNames) {
    if (level == known) return std::string(name);
  }
  return std::to_string(static_cast<int>(level));
}

LogLevel wanted_log_level(const std::string& asked, const Environment& environment, LogLevel otherwise) {
  return log_level_named(asked == "passive" ? environment.get_or("TRANSFORMERS_VERBOSITY", "") : asked,
                         otherwise);
}

}  // namespace hftrain

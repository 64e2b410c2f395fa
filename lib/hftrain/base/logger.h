// Levelled messages for people. The library never prints: main() gives the Logger a sink.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace hftrain {

enum class LogLevel { kDebug = 10, kInfo = 20, kWarning = 30, kError = 40, kCritical = 50 };

// Passed by reference to whoever has something to say; never global. Thread-safe exactly when its sink is.
class Logger {
 public:
  using Sink = std::function<void(LogLevel, std::string_view message)>;

  Logger() = default;  // discards everything
  Logger(LogLevel threshold, Sink sink) : threshold_(threshold), sink_(std::move(sink)) {}

  bool enabled(LogLevel level) const noexcept { return sink_ && level >= threshold_; }
  void log(LogLevel level, std::string_view message) const {
    if (enabled(level)) sink_(level, message);
  }
  void debug(std::string_view message) const { log(LogLevel::kDebug, message); }
  void info(std::string_view message) const { log(LogLevel::kInfo, message); }
  void warning(std::string_view message) const { log(LogLevel::kWarning, message); }
  void error(std::string_view message) const { log(LogLevel::kError, message); }

 private:
  LogLevel threshold_ = LogLevel::kInfo;
  Sink sink_;
};

}  // namespace hftrain

// Lines from a descriptor, for commands that somebody may stop while they wait for one.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "hftrain/base/error.h"
#include "launcher/supervision/stop_signals.h"

namespace hftrain::front {

// What ends a command that a signal stops and that has nothing to save: exit code 130 or 143.
Error stopped_by(int signal, const std::string& doing);

// One thread; `stops` must outlive the object. No more is read than is asked for, up to a buffer. Both calls throw
// stopped_by when a stop signal comes, an Error (exit code 4) where `name` cannot be read or a line has no end.
class StoppableLines {
 public:
  StoppableLines(int descriptor, std::string name, launcher::StopSignals& stops)
      : descriptor_(descriptor), name_(std::move(name)), stops_(stops) {}
  // Without its newline, "\n" or "\r\n"; waits for it. Nothing at the end.
  std::optional<std::string> next();
  // Whether next() gives a line without waiting.
  bool has_one();

 private:
  enum class Wait { kNo, kYes };
  bool find_line(Wait wait);
  bool read_more(Wait wait);

  int descriptor_;  // its owner's
  std::string name_;
  launcher::StopSignals& stops_;
  std::string held_;  // of it from `begin_` on nothing was given yet
  size_t begin_ = 0,
         end_ = 0;  // `end_`: of the line that was found, npos where the input ends without a newline
  bool ended_ = false;
};

}  // namespace hftrain::front

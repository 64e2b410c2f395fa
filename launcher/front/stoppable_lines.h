// Lines from a descriptor, for commands that somebody may stop while they wait for one.
#pragma once

#include <optional>
#include <string>

#include "hftrain/base/error.h"
#include "launcher/supervision/stop_signals.h"

namespace hftrain::front {

// What ends a command that a signal stops and that has nothing to save: exit code 130 or 143.
Error stopped_by(int signal, const std::string& doing);

// One thread; `stops` must outlive the object.
class StoppableLines {
 public:
  StoppableLines(int descriptor, launcher::StopSignals& stops) : descriptor_(descriptor), stops_(stops) {}
  // Without its newline; nothing at the end. Throws stopped_by when a stop signal comes, an Error (exit code 4) where
  // `name` cannot be read.
  std::optional<std::string> next(const std::string& name);

 private:
  bool read_more(const std::string& name);

  int descriptor_;  // its owner's
  launcher::StopSignals& stops_;
  std::string held_;
  bool ended_ = false;
};

}  // namespace hftrain::front

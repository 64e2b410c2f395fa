// Text to a descriptor, for commands that somebody may stop while its reader takes none (a pager, Ctrl-S).
#pragma once

#include <streambuf>
#include <string>

#include "launcher/supervision/stop_signals.h"

namespace hftrain::front {

// What stands behind an std::ostream with exceptions(std::ios::badbit); text goes out as the stream is flushed. One thread;
// `stops` must outlive the object. Flushing throws stopped_by (stoppable_lines.h) when a stop signal comes before the
// reader has taken all, an Error (exit code 7) where it cannot be written. What was not flushed is dropped.
class StoppableOutput : public std::streambuf {
 public:
  StoppableOutput(int descriptor, launcher::StopSignals& stops) : descriptor_(descriptor), stops_(stops) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int_type overflow(int_type byte) override;
  int sync() override;

 private:
  int descriptor_;  // its owner's
  launcher::StopSignals& stops_;
  std::string held_;
};

}  // namespace hftrain::front

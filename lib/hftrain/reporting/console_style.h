// How a run may draw on the stream it talks to.
#pragma once

#include <string>

#include "hftrain/base/environment.h"
#include "hftrain/base/logger.h"

namespace hftrain::reporting {

enum class ProgressStyle {
  kBar,    // one live line, redrawn
  kPlain,  // whole lines only
  kNone,   // no progress at all; log records, headers and messages still come
};

struct ConsoleStyle {
  ProgressStyle progress = ProgressStyle::kPlain;
  bool color = false;
  int width = 80;                        // columns, for the live line
  bool quiet = false;                    // warnings, errors and results only
  LogLevel threshold = LogLevel::kInfo;  // lesser messages are not shown; records and results always are
};

// What the user asked for and what the stream is.
struct ConsoleRequest {
  std::string progress = "auto";  // auto | bar | plain | none
  std::string color = "auto";     // auto | always | never
  bool disable_tqdm = false;
  bool is_terminal = false;
  int width = 80;
  bool quiet = false;  // no progress either
  LogLevel threshold = LogLevel::kInfo;
};

// A live line is drawn only on a terminal that can move its cursor, whatever was asked: no carriage return
// ever reaches a pipe or a file. Colour: "always" and "never" win, then FORCE_COLOR; otherwise a terminal that is not
// TERM=dumb, without NO_COLOR. Error(kUsage) for a word that is none of the above.
ConsoleStyle choose_console_style(const ConsoleRequest& request, const Environment& environment);

}  // namespace hftrain::reporting

// Shows a run to people on one stream: whole lines, and below them, on a terminal, one live line.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <string_view>

#include "hftrain/base/json.h"
#include "hftrain/base/logger.h"
#include "hftrain/reporting/console_style.h"
#include "hftrain/reporting/console_text.h"

namespace hftrain::reporting {

// The only writer of its stream while a run lasts: everything for people goes through it, so that the live
// line stays last and whole. Used by one thread. Reads no clock: times come with the events.
class Console {
 public:
  // `out` must outlive the object.
  Console(std::ostream& out, ConsoleStyle style) : out_(&out), style_(style) {}
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console() { clear(); }

  // A notice or a header: one or several whole lines above the live line; a missing final newline is added.
  // Not in a quiet style, nor where the threshold is above kInfo.
  void line(std::string_view text);
  // The same in every style: why a run failed, what a rank printed.
  void result(std::string_view text);
  // "warning: …" and "error: …" in their colours; lesser levels as they are. Below the threshold: nothing.
  void message(LogLevel level, std::string_view text);

  // An event of rank 0 by its name in the worker protocol; `time` in Unix seconds. Names not listed change
  // nothing.
  //   progress    {phase, done, total, tokens_per_second?, memory_bytes?}: moves the live line. Where lines
  //               stay, a phase that has shown nothing for 10 s says how far it is.
  //   step        {step, total, tokens_per_second?, memory_bytes?}: the same for the phase "train"
  //   log         {record}: the record's line
  //   metrics     {text}: the block at the end of a split
  //   checkpoint  {step, path, seconds, stall_seconds?}
  //   message     {level: number of a LogLevel, text}: also below the threshold, which is not every rank's
  void event(std::string_view name, const Json& data, double time);

  // Removes the live line, for an end of the run or another writer.
  void clear();

 private:
  // What every threshold lets through.
  void show(std::string_view text);
  void say(LogLevel level, std::string_view text);
  void on_progress(const Json& data, double time);
  void on_log(const Json& data);
  void on_checkpoint(const Json& data);
  void estimate(ProgressState& state, double time);
  void draw();
  void write(std::string_view text);

  // When a phase began, for its estimate: a resumed run starts at a step of its own.
  struct PhaseStart {
    double time = 0;
    int64_t done = 0;
  };

  std::ostream* out_;
  ConsoleStyle style_;
  ProgressState train_;
  ProgressState shown_;
  std::map<std::string, PhaseStart> starts_;
  bool live_ = false;     // a live line stands on the terminal
  double last_draw_ = 0;  // event times
  double last_output_ = 0;
};

}  // namespace hftrain::reporting

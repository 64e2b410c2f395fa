// When to begin stopping so that the state is saved before the job's time is over (SLURM_JOB_END_TIME,
// --max_time). Pure: events and the time are given.
//
// Kept back: a margin, twice the longest save and twice the longest update so far; as long as no save was
// measured, kUnknownSaveSeconds for the two saves. Of a short time the margin is a twentieth and the two saves
// are a fifth, if that is less. A job is not stopped before it has made an update. One that does not train saves nothing: the margin alone.
#pragma once

#include <optional>

#include "hftrain/plan/worker_protocol.h"

namespace hftrain::launcher {

class StopBudget {
 public:
  static constexpr double kMarginSeconds = 30, kUnknownSaveSeconds = 120;

  // `begin`, `end`: of the job's time, on the clock of the other arguments; no end: never over.
  StopBudget(double begin, std::optional<double> end, bool trains = true);

  void heard(const plan::WorkerEvent& event, double now);
  // For so long the job was suspended: no update has taken that.
  void skip(double seconds);
  // When the stop must begin; infinite: not known, or never.
  double stop_at() const;
  double kept_back_seconds() const;

 private:
  std::optional<double> end_;
  double margin_ = kMarginSeconds, unknown_save_ = kUnknownSaveSeconds;
  std::optional<double> longest_save_;
  double longest_update_ = 0;
  bool trains_, updated_ = false;
  std::optional<double> last_of_first_;  // the last event of rank 0
};

}  // namespace hftrain::launcher

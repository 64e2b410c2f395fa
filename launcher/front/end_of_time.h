// When the scheduler ends the job that this program is part of.
#pragma once

#include <optional>
#include <string>

#include "hftrain/base/environment.h"

namespace hftrain::front {

struct EndOfTime {
  std::optional<double> at;  // Unix seconds
  std::string warning;       // of a text that is no such time, and is not used
};

// By SLURM_JOB_END_TIME, at `now` in Unix seconds. Neither where it is not there, or over: of an old job.
EndOfTime end_of_time(const Environment& environment, double now);

}  // namespace hftrain::front

// The parts of a page that are text: each is HTML, or empty where the runs have nothing for it.
#pragma once

#include <string>
#include <vector>

#include "hftrain/report/run.h"

namespace hftrain::report {

std::string overview(const std::vector<Run>& runs);
// Every metric: the newest value of each run; of a single run the lowest and the highest, too.
std::string metrics_table(const std::vector<Run>& runs);
// Where the time of each run went, as bars and in seconds.
std::string phases(const std::vector<Run>& runs);
// Per rank: what the plan expected, and what was held at most.
std::string memory_table(const std::vector<Run>& runs);
// Flags whose values are not the same in all runs; of a single run those that somebody gave.
std::string differing_arguments(const std::vector<Run>& runs);
std::string checkpoints(const std::vector<Run>& runs);
// Attempts, checkpoints, restarts, warnings, newest last.
std::string events(const std::vector<Run>& runs);
// The newest records of each run in full digits, its arguments and its plan: closed until opened.
std::string details(const std::vector<Run>& runs);

}  // namespace hftrain::report

// The runs behind a folder: of a search all of its trials, with what search.json says of each. Reads only.
#pragma once

#include <string>
#include <vector>

#include "hftrain/report/run.h"

namespace hftrain::report {

// `path`: what read_run() takes, or the output folder of a search. A trial that ended before it had logged anything is a run with its
// values as arguments and why it ended as its state. A folder that holds a run as well gives that first. Errors of read_run().
std::vector<Run> runs_of(const std::string& path);

// Changes when a file does that runs_of() reads.
std::string fingerprint_of(const std::string& path);

}  // namespace hftrain::report

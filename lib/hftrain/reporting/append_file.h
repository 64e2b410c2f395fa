// Opening a text file whose lines a run adds to.
#pragma once

#include <string>

#include "hftrain/base/file.h"

namespace hftrain::reporting {

// Creates the file and its folders when missing; writes go to its end. A last line without its newline, left
// by a killed process, gets one first. Error(kDisk) names the path.
FileDescriptor open_for_lines(const std::string& path);

}  // namespace hftrain::reporting

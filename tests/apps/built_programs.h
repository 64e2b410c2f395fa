// The built programs that the tests of this folder run.
#pragma once

#include <filesystem>
#include <string>

#include "launcher/process/watched_process.h"
#include "support/paths.h"

namespace hftrain::testing {

using Program = launcher::WatchedProcess;

inline const std::string kProgram = program("hftrain");
inline const bool kHasWorker = std::filesystem::exists(program("hftrain-worker"));
inline constexpr const char* kNoWorker =
    "this build has no hftrain-worker: configure with -DHFTRAIN_WITH_TORCH=ON";

// How a program ended, and all that it wrote.
struct Outcome {
  int exit_code = -1;
  std::string out, err;
};

}  // namespace hftrain::testing

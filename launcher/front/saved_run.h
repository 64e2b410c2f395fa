// What the files of a checkpoint, and of the run that wrote it, say of that run.
#pragma once

#include <optional>
#include <string>

#include "hftrain/plan/resolve.h"

namespace hftrain::front {

// Nothing without a checkpoint, or of one that no run can go on from.
std::optional<plan::SavedRun> saved_run(const std::string& checkpoint);

}  // namespace hftrain::front

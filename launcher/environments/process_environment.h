// What another process of this machine began with.
#pragma once

#include <filesystem>

#include "hftrain/base/environment.h"

namespace hftrain::launcher {

// `process`: its folder below /proc. Empty of one that has ended or is another user's.
Environment environment_at(const std::filesystem::path& process);

}  // namespace hftrain::launcher

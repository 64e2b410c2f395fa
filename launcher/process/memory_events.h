// Whether the kernel's out-of-memory killer has been at work: its counter of this process's control group
// (workers are in the same one), or of the whole machine where there is no such counter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hftrain::launcher {

// Processes killed for want of memory so far. `root` is "" except in tests, where it stands before /proc and
// /sys.
uint64_t memory_kills(const std::string& root = "");
// The control group's limit in bytes; nothing when there is none or it cannot be read.
std::optional<uint64_t> memory_limit(const std::string& root = "");

}  // namespace hftrain::launcher

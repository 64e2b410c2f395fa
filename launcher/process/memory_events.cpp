#include "launcher/process/memory_events.h"

#include <fstream>
#include <string>
#include <vector>

#include "hftrain/base/whole_number.h"
#include "hftrain/machine/cgroup.h"

namespace hftrain::launcher {
namespace {

// The value of the line "key value" in a file; nothing when either is missing.
std::optional<uint64_t> counter(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string name, value; file >> name >> value;) {
    if (name == key) return whole_number<uint64_t>(value);
  }
  return std::nullopt;
}

// Of the innermost group that has the file: "max" is no number.
std::optional<uint64_t> limit_in(const std::vector<std::string>& groups, const std::string& file) {
  for (const std::string& group : groups) {
    std::ifstream limit(group + '/' + file);
    std::string text;
    if (limit >> text) return whole_number<uint64_t>(text);
  }
  return std::nullopt;
}

std::optional<uint64_t> kills_in(const std::vector<std::string>& groups, const std::string& file) {
  for (const std::string& group : groups) {
    if (const auto kills = counter(group + '/' + file, "oom_kill")) return kills;
  }
  return std::nullopt;
}

}  // namespace

uint64_t memory_kills(const std::string& root) {
  const machine::Cgroup groups = machine::find_cgroup(root + '/');
  if (const auto kills = kills_in(groups.unified, "memory.events")) return *kills;
  if (const auto kills = kills_in(groups.memory, "memory.oom_control")) return *kills;
  return counter(root + "/proc/vmstat", "oom_kill").value_or(0);
}

std::optional<uint64_t> memory_limit(const std::string& root) {
  const machine::Cgroup groups = machine::find_cgroup(root + '/');
  if (const auto limit = limit_in(groups.unified, "memory.max")) return limit;
  constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // version 1 writes the largest number of pages
  const auto limit = limit_in(groups.memory, "memory.limit_in_bytes");
  return limit && *limit < kNoLimit ? limit : std::nullopt;
}

}  // namespace hftrain::launcher

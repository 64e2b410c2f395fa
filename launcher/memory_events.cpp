#include "launcher/memory_events.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <vector>

#include "hftrain/base/text.h"

namespace hftrain::launcher {
namespace {

std::optional<uint64_t> to_number(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// The value of the line "key value" in a file; nothing when either is missing.
std::optional<uint64_t> counter(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string name, value; file >> name >> value;) {
    if (name == key) return to_number(value);
  }
  return std::nullopt;
}

// The control group's folder in the unified hierarchy (cgroups(7): the line "0::/path"). Inside a container
// the path is relative to a mount that already is the group, so the nearest existing parent is taken.
std::string group_folder(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string path;
  for (std::string line; std::getline(groups, line);) {
    if (line.rfind("0::", 0) == 0) path = line.substr(3);
  }
  const std::string mount = root + "/sys/fs/cgroup";
  std::error_code ignored;
  while (path.size() > 1 && !std::filesystem::exists(mount + path + "/memory.events", ignored)) {
    path.erase(path.rfind('/'));
  }
  return mount + path;
}

}  // namespace

uint64_t memory_kills(const std::string& root) {
  if (const auto kills = counter(group_folder(root) + "/memory.events", "oom_kill")) return *kills;
  if (const auto kills = counter(root + "/sys/fs/cgroup/memory/memory.oom_control", "oom_kill"))
    return *kills;
  return counter(root + "/proc/vmstat", "oom_kill").value_or(0);
}

std::optional<uint64_t> memory_limit(const std::string& root) {
  std::ifstream file(group_folder(root) + "/memory.max");
  std::string text;
  if (!(file >> text)) return std::nullopt;
  return to_number(text);  // "max" is no number
}

}  // namespace hftrain::launcher

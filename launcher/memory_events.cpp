#include "launcher/memory_events.h"

#include <algorithm>
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

// Whether a line of /proc/self/cgroup ("4:memory:/path", "0::/path") is of the hierarchy that has the memory
// controller: of version 1, or of the unified one (cgroups(7)).
bool is_of(const std::vector<std::string>& fields, bool unified) {
  if (fields.size() < 3) return false;
  if (unified) return fields[0] == "0" && fields[1].empty();
  const std::vector<std::string> controllers = split(fields[1], ',');
  return std::find(controllers.begin(), controllers.end(), "memory") != controllers.end();
}

// The process's control group below `mount`. Inside a container the path is relative to a mount that already
// is the group, so the nearest parent that has `file` is taken.
std::string group_folder(const std::string& root, const std::string& mount, const std::string& file,
                         bool unified) {
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string path;
  for (std::string line; std::getline(groups, line);) {
    if (is_of(split(line, ':'), unified)) path = line.substr(line.find(':', line.find(':') + 1) + 1);
  }
  std::error_code ignored;
  while (path.size() > 1 && !std::filesystem::exists(root + mount + path + '/' + file, ignored)) {
    path.erase(path.rfind('/'));
  }
  return root + mount + path;
}

std::string unified_file(const std::string& root, const std::string& file) {
  return group_folder(root, "/sys/fs/cgroup", file, true) + '/' + file;
}

std::string version_1_file(const std::string& root, const std::string& file) {
  return group_folder(root, "/sys/fs/cgroup/memory", file, false) + '/' + file;
}

std::optional<uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) return std::nullopt;
  return to_number(text);  // "max" is no number
}

}  // namespace

uint64_t memory_kills(const std::string& root) {
  if (const auto kills = counter(unified_file(root, "memory.events"), "oom_kill")) return *kills;
  if (const auto kills = counter(version_1_file(root, "memory.oom_control"), "oom_kill")) return *kills;
  return counter(root + "/proc/vmstat", "oom_kill").value_or(0);
}

std::optional<uint64_t> memory_limit(const std::string& root) {
  if (const auto limit = number_in(unified_file(root, "memory.max"))) return limit;
  constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // version 1 writes the largest number of pages
  const auto limit = number_in(version_1_file(root, "memory.limit_in_bytes"));
  return limit && *limit < kNoLimit ? limit : std::nullopt;
}

}  // namespace hftrain::launcher

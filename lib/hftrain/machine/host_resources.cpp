#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"
#include "hftrain/machine/cgroup.h"
#include "hftrain/machine/cpu_map.h"
#include "hftrain/machine/detect_topology.h"
#include "hftrain/plan/requested_threads.h"

namespace hftrain::machine {
namespace {

// v1 writes the largest page-aligned number for "no limit".
constexpr int64_t kUnlimitedMemory = int64_t{1} << 60;

// Files below /proc and /sys have no useful size and may be missing; both read as empty.
std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<int64_t> read_integer(const std::string& path) {
  return leading_integer(read_text(path));
}

template <typename T>
void lower(std::optional<T>& limit, T candidate) {
  limit = limit ? std::min(*limit, candidate) : candidate;
}

std::optional<double> cpu_quota(const Cgroup& cgroup) {
  std::optional<double> cores;
  for (const std::string& folder : cgroup.unified) {
    const std::vector<std::string> words = split_words(read_text(folder + "/cpu.max"));  // "quota period"
    if (words.size() != 2) continue;
    const auto quota = leading_integer(words[0]), period = leading_integer(words[1]);
    if (quota && period && *period > 0)
      lower(cores, static_cast<double>(*quota) / static_cast<double>(*period));
  }
  for (const std::string& folder : cgroup.cpu) {
    const auto quota = read_integer(folder + "/cpu.cfs_quota_us"),
               period = read_integer(folder + "/cpu.cfs_period_us");
    if (quota && period && *quota > 0 && *period > 0) {
      lower(cores, static_cast<double>(*quota) / static_cast<double>(*period));
    }
  }
  return cores;
}

struct MemoryLimit {
  std::optional<int64_t> limit, left;
};

// Pages of files that the kernel drops before it lets a process of the group go without: what it counts as available of a machine, too.
int64_t reclaimable(const std::string& folder, const std::string& counter) {
  const std::vector<std::string> words =
      split_words(read_text(folder + "/memory.stat"));  // "name bytes" lines
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == counter) return std::max<int64_t>(0, leading_integer(words[i + 1]).value_or(0));
  }
  return 0;
}

// Usage is of the group with all below it, and so is `cache`.
struct MemoryFiles {
  const char *limit, *usage, *cache;
};

MemoryLimit memory_limit(const Cgroup& cgroup) {
  MemoryLimit result;
  const auto look = [&](const std::vector<std::string>& folders, const MemoryFiles& files) {
    for (const std::string& folder : folders) {
      const auto limit = read_integer(folder + files.limit);
      if (!limit || *limit >= kUnlimitedMemory) continue;
      lower(result.limit, *limit);
      const int64_t used = read_integer(folder + files.usage).value_or(0) - reclaimable(folder, files.cache);
      lower(result.left, std::max<int64_t>(0, *limit - std::max<int64_t>(0, used)));
    }
  };
  look(cgroup.unified, {"/memory.max", "/memory.current", "inactive_file"});
  look(cgroup.memory, {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"});
  return result;
}

// Bytes of a "Name:  123 kB" line.
int64_t meminfo(const std::string& text, const std::string& name) {
  const size_t at = text.find(name + ':');
  if (at == std::string::npos) return 0;
  return leading_integer(text.substr(at + name.size() + 1)).value_or(0) * 1024;
}

// By the flags of the first processor: Linux makes the text of all as it is read. Of what is no x86 it is not known.
bool widens_bfloat16(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("flags")) continue;
    const std::vector<std::string> words = split_words(line);
    const auto has = [&](const char* flag) {
      return std::find(words.begin(), words.end(), flag) != words.end();
    };
    // What LibTorch asks oneDNN for.
    return !has("avx_ne_convert") && !(has("avx512bw") && has("avx512vl") && has("avx512dq"));
  }
  return false;
}

int count_allowed_cores() {
  const size_t cpus = allowed_cpus().size();
  return static_cast<int>(cpus > 0 ? cpus : std::thread::hardware_concurrency());
}

int count_machine_cores() {
  return static_cast<int>(std::max(0L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace

plan::HostResources detect_host(const Environment& environment, const TopologySources& sources) {
  plan::HostResources host;
  host.allowed_cores = std::max(1, sources.allowed_cores ? *sources.allowed_cores : count_allowed_cores());
  host.machine_cores = sources.machine_cores ? *sources.machine_cores : count_machine_cores();
  const std::string memory = read_text(sources.root + "proc/meminfo");
  host.memory_bytes = meminfo(memory, "MemTotal");
  host.available_bytes = meminfo(memory, "MemAvailable");
  const Cgroup cgroup = find_cgroup(sources.root);
  host.quota_cores = cpu_quota(cgroup);
  const MemoryLimit limit = memory_limit(cgroup);
  host.memory_limit_bytes = limit.limit;
  if (limit.left) host.available_bytes = std::min(host.available_bytes, *limit.left);
  host.widens_bfloat16 = widens_bfloat16(sources.root + "proc/cpuinfo");
  plan::take_requested_threads(environment, host);
  return host;
}

}  // namespace hftrain::machine

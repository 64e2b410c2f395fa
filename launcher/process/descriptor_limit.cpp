#include "launcher/process/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

#include "hftrain/base/error.h"

namespace hftrain::launcher {
namespace {

constexpr rlim_t kMost = 1'000'000;

rlim_t limit_now() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : kMost;
}

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, kMost);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string describe_descriptor_limit() {
  const rlim_t limit = limit_now();
  if (limit == RLIM_INFINITY) return "room for any number of descriptors";
  return "room for " + std::to_string(limit) + " descriptors (ulimit -n)";
}

void check_descriptor_limit(int agents, int own_ranks) {
  constexpr rlim_t kOfItsOwn = 64, kOfARank = 8;
  const rlim_t needed = kOfItsOwn + static_cast<rlim_t>(agents) + kOfARank * static_cast<rlim_t>(own_ranks);
  if (limit_now() >= needed) return;
  throw Error(ExitCode::kEnvironment, "too few descriptors for a job of " + std::to_string(agents) + " nodes")
      .where("ulimit -n, on node 0")
      .why("node 0 has a connection to each of them and needs " + std::to_string(needed) + "; it has " +
           describe_descriptor_limit() + ", and may not have more")
      .hint("raise the hard limit: ulimit -Hn " + std::to_string(needed) +
            ", limits.conf, LimitNOFILE of a service, --ulimit nofile of a container");
}

}  // namespace hftrain::launcher

// For LD_PRELOAD: the process whose RANK is STOPPED_RANK stops itself as it begins to connect to the others, which comes behind their store:
// it makes shared memory (shm) or looks for its interfaces (Gloo). STOPPED_AT says at which time: those of sub-groups come later.
#include <dlfcn.h>
#include <ifaddrs.h>
#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>

namespace {

void stop_in_time() {
  static std::atomic<int> times{0};
  const char* rank = std::getenv("RANK");
  const char* stopped = std::getenv("STOPPED_RANK");
  const char* at = std::getenv("STOPPED_AT");
  if (rank == nullptr || stopped == nullptr || at == nullptr || std::string(rank) != stopped) return;
  if (++times == std::atoi(at)) std::raise(SIGSTOP);
}

}  // namespace

extern "C" int memfd_create(const char* name, unsigned flags) noexcept {
  using Function = int (*)(const char*, unsigned);
  static const auto kReal = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "memfd_create"));
  stop_in_time();
  return kReal(name, flags);
}

extern "C" int getifaddrs(struct ifaddrs** addresses) noexcept {
  using Function = int (*)(struct ifaddrs**);
  static const auto kReal = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "getifaddrs"));
  stop_in_time();
  return kReal(addresses);
}

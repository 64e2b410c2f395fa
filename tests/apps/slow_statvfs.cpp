// For LD_PRELOAD: the first time that a process asks how full the file system of SLOW_PLACE is, the answer takes SLOW_SECONDS.
#include <dlfcn.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace {

void wait_once(const std::string& path) {
  static std::atomic<bool> asked{false};
  const char* place = std::getenv("SLOW_PLACE");
  const char* seconds = std::getenv("SLOW_SECONDS");
  if (place == nullptr || seconds == nullptr || !path.starts_with(place) || asked.exchange(true)) return;
  ::sleep(static_cast<unsigned>(std::atoi(seconds)));
}

}  // namespace

extern "C" int statvfs(const char* path, struct statvfs* status) {
  using Function = int (*)(const char*, struct statvfs*);
  static const auto kReal = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "statvfs"));
  wait_once(path);
  return kReal(path, status);
}

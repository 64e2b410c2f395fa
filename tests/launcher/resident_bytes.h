// Memory of this process, for tests of what it keeps.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace hftrain::testing {

inline int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

}  // namespace hftrain::testing

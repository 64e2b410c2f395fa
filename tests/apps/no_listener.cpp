// For LD_PRELOAD: nobody may listen at a port.
#include <sys/socket.h>

#include <cerrno>

extern "C" int listen(int, int) noexcept {
  errno = EADDRINUSE;
  return -1;
}

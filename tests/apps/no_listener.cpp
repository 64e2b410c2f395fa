// For LD_PRELOAD: nobody may listen at a port; with SIGTERM_AT_LISTEN in the environment whoever does is sent that signal.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

extern "C" int listen(int socket, int waiting) noexcept {
  if (std::getenv("SIGTERM_AT_LISTEN") != nullptr) {
    std::raise(SIGTERM);
    return static_cast<int>(::syscall(SYS_listen, socket, waiting));
  }
  errno = EADDRINUSE;
  return -1;
}

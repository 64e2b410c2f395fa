#include "comm/socket_bytes.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <string>

namespace hftrain::testing {

int64_t bytes_sent_over_sockets() {
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    tcp_info info{};
    socklen_t size = sizeof info;
    const int descriptor = std::stoi(entry.path().filename().string());
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;  // another kind of file
    bytes += static_cast<int64_t>(info.tcpi_bytes_sent) - static_cast<int64_t>(info.tcpi_bytes_retrans);
  }
  return bytes;
}

}  // namespace hftrain::testing

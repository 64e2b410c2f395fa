#include "hftrain/machine/identity.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hftrain::machine {

std::string host_name() {
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  return host;
}

std::string machine_identity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::error_code ignored;
  const auto network = std::filesystem::read_symlink("/proc/self/ns/net", ignored);
  const auto processes = std::filesystem::read_symlink("/proc/self/ns/pid", ignored);
  return boot + ' ' + network.string() + ' ' + processes.string() + ' ' + host_name();
}

}  // namespace hftrain::machine

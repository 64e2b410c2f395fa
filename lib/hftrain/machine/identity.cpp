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
  return boot + ' ' + network.string() + ' ' + host_name();
}

std::string process_namespace() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
}

}  // namespace hftrain::machine

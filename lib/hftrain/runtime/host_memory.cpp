#include "hftrain/runtime/host_memory.h"

#include <charconv>
#include <fstream>
#include <string>

#include "hftrain/base/error.h"

namespace hftrain::runtime {
namespace {

// "VmRSS:	  123456 kB" -> bytes.
int64_t kilobyte_line(const std::string& line) {
  const size_t digits = line.find_first_of("0123456789");
  int64_t kilobytes = 0;
  if (digits != std::string::npos) {
    std::from_chars(line.data() + digits, line.data() + line.size(), kilobytes);
  }
  return kilobytes * 1024;
}

}  // namespace

HostMemory host_memory() {
  std::ifstream status("/proc/self/status");
  if (!status)
    throw Error(ExitCode::kEnvironment, "cannot read /proc/self/status")
        .where("/proc/self/status")
        .why("the kernel tells there how much memory a rank uses")
        .hint("mount /proc");
  HostMemory memory;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) memory.resident = kilobyte_line(line);
    if (line.starts_with("VmHWM:")) memory.peak_resident = kilobyte_line(line);
  }
  return memory;
}

bool restart_host_peak() {
  std::ofstream control("/proc/self/clear_refs");
  control << '5' << std::flush;
  return static_cast<bool>(control);
}

}  // namespace hftrain::runtime

#include "hftrain/runtime/host_memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>

#include <charconv>
#include <fstream>
#include <new>
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

class HostAllocator final : public c10::Allocator {
 public:
  explicit HostAllocator(c10::Allocator& served_by) : served_by_(served_by) {}

  c10::DataPtr allocate(size_t bytes) override {
    try {
      return served_by_.allocate(bytes);
    } catch (const c10::Error&) {
      throw std::bad_alloc();  // the one reason for which the CPU allocator throws
    }
  }
  c10::DeleterFnPtr raw_deleter() const override { return served_by_.raw_deleter(); }
  void copy_data(void* target, const void* source, size_t count) const override {
    default_copy_data(target, source, count);
  }

 private:
  c10::Allocator& served_by_;
};

}  // namespace

HostMemory host_memory() {
  std::ifstream status("/proc/self/status");
  if (!status) throw Error(ExitCode::kEnvironment, "cannot read /proc/self/status").hint("mount /proc");
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

void install_host_allocator() {
  constexpr uint8_t kPriority = 1;                                              // above LibTorch's own
  c10::SetCPUAllocator(new HostAllocator(*c10::GetCPUAllocator()), kPriority);  // LibTorch keeps it for ever
}

void keep_freed_memory() {
  constexpr int kLargestBlock = 1 << 30;  // larger ones still come from the kernel and go back to it
  constexpr int kGrowth = 64 << 20;       // of the heap, in one piece
  ::mallopt(M_MMAP_THRESHOLD, kLargestBlock);
  ::mallopt(M_TRIM_THRESHOLD, -1);  // never
  ::mallopt(M_TOP_PAD, kGrowth);
}

}  // namespace hftrain::runtime

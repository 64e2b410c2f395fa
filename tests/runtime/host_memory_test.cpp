#include "hftrain/runtime/host_memory.h"

#include <vector>

#include "support/catch.h"

using namespace hftrain;

TEST_CASE("the resident size grows by memory that is written") {
  const auto before = runtime::host_memory();
  std::vector<char> block(64 << 20, 'x');
  const auto after = runtime::host_memory();
  CHECK(before.resident > 1 << 20);
  CHECK(after.resident - before.resident > 60 << 20);
  CHECK(after.peak_resident >= after.resident);
  CHECK(block.back() == 'x');
}

TEST_CASE("the peak can be restarted, and then forgets what was freed") {
  {
    std::vector<char> block(64 << 20, 'x');
    CHECK(block.back() == 'x');
  }
  const auto peak = runtime::host_memory().peak_resident;
  if (!runtime::restart_host_peak()) {
    WARN("this kernel does not let a process restart its peak");
    return;
  }
  CHECK(runtime::host_memory().peak_resident < peak - (32 << 20));
}

#include "hftrain/runtime/first_memory.h"

#include <c10/core/AllocatorConfig.h>
#include <c10/util/Exception.h>

#include <string>
#include <vector>

#include "support/catch.h"

using namespace hftrain;

namespace {

namespace allocator = c10::CachingAllocator;

// A device whose driver refuses segments that grow.
struct RefusingDevice {
  int asked = 0;

  void allocate() {
    ++asked;
    TORCH_CHECK(!allocator::AcceleratorAllocatorConfig::use_expandable_segments(),
                "CUDA driver error: operation not permitted");
  }
};

}  // namespace

TEST_CASE("a device that refuses memory that grows in place gives it in blocks, with a warning") {
  allocator::setAllocatorSettings("max_split_size_mb:128,expandable_segments:True");
  std::vector<std::string> said;
  const Logger logger(LogLevel::kWarning,
                      [&](LogLevel, std::string_view message) { said.emplace_back(message); });
  RefusingDevice device;
  runtime::take_first_memory([&] { device.allocate(); }, logger);
  CHECK(device.asked == 2);
  CHECK_FALSE(allocator::AcceleratorAllocatorConfig::use_expandable_segments());
  CHECK(allocator::AcceleratorAllocatorConfig::max_split_size() == size_t{128} << 20);  // the rest stays
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("(CUDA driver error: operation not permitted") != std::string::npos);
  CHECK(said[0].find("PYTORCH_ALLOC_CONF=expandable_segments:False") != std::string::npos);
  runtime::take_first_memory([&] { device.allocate(); }, logger);
  CHECK(device.asked == 3);
  CHECK(said.size() == 1);
}

TEST_CASE("a device that has no memory, or fails either way, is told as it is") {
  allocator::setAllocatorSettings("expandable_segments:True");
  int asked = 0;
  const auto full = [&] {
    ++asked;
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory");
  };
  CHECK_THROWS_AS(runtime::take_first_memory(full, {}), c10::OutOfMemoryError);
  CHECK(asked == 1);
  CHECK(allocator::AcceleratorAllocatorConfig::use_expandable_segments());
  const auto lost = [&] {
    ++asked;
    TORCH_CHECK(false, "CUDA error: device is lost, asked ", asked);
  };
  const auto told = [&] {
    try {
      runtime::take_first_memory(lost, {});
    } catch (const c10::Error& error) {
      return std::string(error.what_without_backtrace());
    }
    return std::string();
  };
  CHECK(told().find("asked 3") != std::string::npos);  // of the second time
  CHECK(told().find("asked 4") != std::string::npos);  // which there is once
  CHECK(asked == 4);
}

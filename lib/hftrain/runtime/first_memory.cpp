#include "hftrain/runtime/first_memory.h"

#include <c10/core/AllocatorConfig.h>
#include <c10/util/Exception.h>

#include <string>

namespace hftrain::runtime {
namespace {

namespace allocator = c10::CachingAllocator;

bool segments_grow() {
  return allocator::AcceleratorAllocatorConfig::use_expandable_segments();
}

// Behind what is set, of which the rest stays.
void let_no_segment_grow() {
  const std::string settings = allocator::getAllocatorSettings();
  allocator::setAllocatorSettings(settings + (settings.empty() ? "" : ",") + "expandable_segments:False");
}

}  // namespace

void take_first_memory(const std::function<void()>& take, const Logger& logger) {
  std::string refused;
  try {
    return take();
  } catch (const c10::OutOfMemoryError&) {
    throw;  // of which there would be no more the other way
  } catch (const c10::Error& error) {
    if (!segments_grow()) throw;
    refused = error.what_without_backtrace();
  }
  let_no_segment_grow();
  take();
  logger.warning(
      "this GPU's driver refuses memory that grows in place, as some virtual GPUs and containers do: it is "
      "taken in blocks, as with PYTORCH_ALLOC_CONF=expandable_segments:False, of which batches of many "
      "lengths need more (" +
      refused.substr(0, refused.find('\n')) + ")");
}

}  // namespace hftrain::runtime

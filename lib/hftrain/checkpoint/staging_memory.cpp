#include "hftrain/checkpoint/staging_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hftrain/base/error.h"

namespace hftrain::checkpoint {
namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20, kPage = 4096;
constexpr uint64_t kMapped = StagingMemory::kChunk + kHugePage;  // so that a whole number of huge pages fits

void unmap(void* begin) {
  ::munmap(begin, kMapped);
}

// Straight from the kernel: the heap would keep it among blocks of the training step.
c10::DataPtr map_chunk() {
  void* begin = ::mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) {
    throw Error(ExitCode::kHostMemory, "there is no host memory for the copy of the state")
        .where("--async_save")
        .why(std::strerror(errno))
        .hint("leave --async_save out: a save then takes no copy");
  }
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t aligned = (address + kHugePage - 1) / kHugePage * kHugePage;
  void* chunk = static_cast<std::byte*>(begin) + (aligned - address);
  ::madvise(chunk, StagingMemory::kChunk, MADV_HUGEPAGE);  // a kernel without them has small ones
  return {chunk, begin, &unmap, c10::Device(c10::DeviceType::CPU)};
}

}  // namespace

void StagingMemory::grow(uint64_t bytes) {
  while (size() < bytes) chunks_.push_back(pinned_ != nullptr ? pinned_->allocate(kChunk) : map_chunk());
}

void StagingMemory::touch(size_t chunk) {
  auto* bytes = static_cast<volatile std::byte*>(chunks_.at(chunk).get());
  for (uint64_t offset = 0; offset < kChunk; offset += kPage) bytes[offset] = std::byte{0};
}

std::span<std::byte> StagingMemory::at(uint64_t position, uint64_t most) const {
  const uint64_t offset = position % kChunk;
  auto* chunk = static_cast<std::byte*>(chunks_.at(position / kChunk).get());
  return {chunk + offset, std::min(most, kChunk - offset)};
}

}  // namespace hftrain::checkpoint

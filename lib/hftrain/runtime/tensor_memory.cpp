#include "hftrain/runtime/tensor_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

namespace hftrain::runtime {

// Stands before every block, so that a block can be freed by its address alone.
struct alignas(TensorMemory::kAlignment) TensorMemory::Header {
  size_t size;             // its class; 0: from the heap
  Header* next = nullptr;  // while it is free
};

namespace {

constexpr size_t kPage = 4096, kHugePage = size_t{2} << 20;

void unmap(char* from, const char* to) {
  if (from < to) ::munmap(from, static_cast<size_t>(to - from));
}

// `size` bytes from a multiple of `alignment` on, both in whole pages; null where there are none.
void* map_aligned(size_t size, size_t alignment) {
  const size_t room = alignment > kPage ? size + alignment - kPage : size;
  void* mapped = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(mapped);
  char* const aligned = begin + (alignment - reinterpret_cast<uintptr_t>(begin) % alignment) % alignment;
  unmap(begin, aligned);
  unmap(aligned + size, begin + room);
  return aligned;
}

// Of `size` bytes, of which `used` are asked for. The header has a page of its own, so that sizes which are powers of two fill their class.
// With kHuge what lies in whole huge pages of `used` is asked for in those, which the kernel gives where it has them. What is beyond
// them would be in memory though nobody has touched it.
void* map_block(size_t size, size_t used, Pages pages) {
  const size_t huge = pages == Pages::kHuge ? used / kHugePage * kHugePage : 0;
  void* memory = map_aligned(size + kPage, huge > 0 ? kHugePage : kPage);
  if (memory != nullptr && huge > 0) ::madvise(memory, huge, MADV_HUGEPAGE);
  return memory;
}

void* from_heap(size_t size) {
  constexpr size_t kStep = TensorMemory::kAlignment;
  return std::aligned_alloc(kStep, (size + kStep - 1) / kStep * kStep);
}

TensorMemory& tensor_memory(Pages pages = Pages::kSmall) {
  // Tensors of other static objects may outlive any order of ends.
  static auto* const memory = new TensorMemory(pages);
  return *memory;
}

void free_tensor(void* block) {
  tensor_memory().free(block);
}

class TensorAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* block = bytes == 0 ? nullptr : tensor_memory().allocate(bytes);
    return {block, block, &free_tensor, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_tensor; }
  void copy_data(void* target, const void* source, size_t count) const override {
    default_copy_data(target, source, count);
  }
};

}  // namespace

size_t size_class(size_t bytes) {
  const size_t step = std::max(kPage, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

TensorMemory::~TensorMemory() {
  give_back_down_to(0);
}

void* TensorMemory::allocate(size_t bytes) {
  if (bytes > SIZE_MAX / 4) throw std::bad_alloc();
  const bool large = bytes >= kSmallestKept;
  const size_t size = large ? size_class(bytes) : 0;
  void* memory = large ? take_large(size, bytes) : from_heap(bytes + sizeof(Header));
  if (memory == nullptr) throw std::bad_alloc();
  return new (memory) Header{size} + 1;
}

void TensorMemory::free(void* block) noexcept {
  if (block == nullptr) return;
  Header* header = static_cast<Header*>(block) - 1;
  if (header->size == 0) return std::free(header);
  const std::lock_guard lock(mutex_);
  in_use_ -= header->size;
  kept_ += header->size;
  Header*& first = free_.find(header->size)->second;  // made when the first block of this size was taken
  header->next = first;
  first = header;
  give_back_down_to(most_in_use_ + kAlwaysKept);
}

void TensorMemory::give_back() {
  const std::lock_guard lock(mutex_);
  give_back_down_to(0);
}

size_t TensorMemory::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

size_t TensorMemory::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

// Null when there is no memory.
void* TensorMemory::take_large(size_t size, size_t used) {
  const std::lock_guard lock(mutex_);
  void* memory = nullptr;
  if (Header*& first = free_[size]; first != nullptr) {
    memory = first;  // freed last, so the likeliest to be in the processor's cache
    first = first->next;
    kept_ -= size;
  } else if (memory = map_block(size, used, pages_); memory == nullptr) {
    give_back_down_to(0);
    memory = map_block(size, used, pages_);
  }
  if (memory != nullptr) most_in_use_ = std::max(most_in_use_, in_use_ += size);
  return memory;
}

// The largest go first: they are few, and a process that no longer needs them has changed its shapes.
void TensorMemory::give_back_down_to(size_t bytes) {
  for (auto at = free_.end(); kept_ > bytes && at != free_.begin();) {
    --at;
    while (kept_ > bytes && at->second != nullptr) {
      Header* block = at->second;
      at->second = block->next;
      ::munmap(block, at->first + kPage);
      kept_ -= at->first;
    }
  }
}

void install_tensor_memory(Pages pages) {
  tensor_memory(pages);
  constexpr uint8_t kPriority = 1;                       // above LibTorch's own
  c10::SetCPUAllocator(new TensorAllocator, kPriority);  // LibTorch keeps it for ever
  // What is left for the heap are small blocks: they stay with the process, large ones that are no tensors go
  // back to the kernel.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

void empty_tensor_memory() {
  tensor_memory().give_back();
}

}  // namespace hftrain::runtime

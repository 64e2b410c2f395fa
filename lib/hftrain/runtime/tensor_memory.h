// Memory for CPU tensors.
//
// A training step takes and frees the same blocks again and again. Blocks that went back to the kernel would
// be faulted in and zeroed anew (a third of a step of a 124M model); blocks from the heap that small objects
// share are split by the small ones that live on (log records, file handles), and the process grows for as
// long as it runs. So large blocks are mapped in size classes of their own and kept for the next tensor of
// that class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace hftrain::runtime {

// Of large blocks. Memory in huge pages is read from end to end half as fast again, as a model's weights are for each token of a text. Where
// a virtual machine gives back to its host what nobody uses they are slow to come by (1 s for 500 MB), so that a run which computes
// more than it reads does without.
enum class Pages { kSmall, kHuge };

// Any thread may call any member.
class TensorMemory {
 public:
  struct Header;
  static constexpr size_t kAlignment = 64;           // of what allocate() returns, in bytes
  static constexpr size_t kSmallestKept = 32 << 10;  // smaller blocks come from the heap
  // Blocks that are not in use are kept up to the most that was in use at one time, and this much more.
  static constexpr size_t kAlwaysKept = 64 << 20;

  explicit TensorMemory(Pages pages = Pages::kSmall) : pages_(pages) {}
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;
  ~TensorMemory();  // all blocks must have been freed

  // `bytes` may be 0. Contents are undefined. std::bad_alloc when the kernel gives no more and nothing kept
  // is left to give back.
  void* allocate(size_t bytes);
  void free(void* block) noexcept;

  // Blocks that are not in use go back to the kernel.
  void give_back();

  // Bytes of large blocks, with what their size classes add.
  size_t in_use() const;
  size_t kept() const;

 private:
  void* take_large(size_t size, size_t used);
  void give_back_down_to(size_t bytes);

  const Pages pages_;
  mutable std::mutex mutex_;
  std::map<size_t, Header*> free_;  // by size: the block freed last, which knows the one before
  size_t in_use_ = 0, most_in_use_ = 0, kept_ = 0;
};

// The size of the class of a block of `bytes`: at most an eighth larger, in whole pages.
size_t size_class(size_t bytes);

// Makes one TensorMemory, which lives as long as the process, the allocator of all CPU tensors. Running out
// of memory is then std::bad_alloc, recognised by its type. Call once, before the first tensor is made; of several calls the first
// says which pages.
void install_tensor_memory(Pages pages);

// Gives back what it keeps and nobody uses.
void empty_tensor_memory();

}  // namespace hftrain::runtime

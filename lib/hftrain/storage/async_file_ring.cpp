// io_uring by its system calls: a submission ring and a completion ring in memory shared with the kernel
// (man 7 io_uring). One thread owns both.
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "hftrain/storage/async_file_engine.h"

namespace hftrain::storage {
namespace {

constexpr unsigned kMostEntries = 4096;
// One mapping for both rings (5.4), no lost completions (5.5), IORING_OP_READ and _WRITE (came with 5.6's
// RW_CUR_POS).
constexpr unsigned kFeatures = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_RW_CUR_POS;

// A piece of memory shared with the kernel.
class SharedMap {
 public:
  SharedMap() = default;
  SharedMap(int descriptor, size_t bytes, uint64_t what)
      : data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor,
                     static_cast<off_t>(what))),
        bytes_(bytes) {}
  SharedMap(const SharedMap&) = delete;
  SharedMap& operator=(const SharedMap&) = delete;
  ~SharedMap() {
    if (*this) ::munmap(data_, bytes_);
  }
  explicit operator bool() const noexcept { return data_ != MAP_FAILED; }
  template <typename T>
  T* at(uint32_t offset) const noexcept {
    return reinterpret_cast<T*>(static_cast<std::byte*>(data_) + offset);
  }

 private:
  void* data_ = MAP_FAILED;
  size_t bytes_ = 0;
};

uint32_t load(uint32_t& shared) {
  return std::atomic_ref(shared).load(std::memory_order_acquire);
}
void store(uint32_t& shared, uint32_t value) {
  std::atomic_ref(shared).store(value, std::memory_order_release);
}

size_t ring_bytes(const io_uring_params& params) {
  return std::max(params.sq_off.array + params.sq_entries * sizeof(uint32_t),
                  params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
}

class RingEngine final : public BlockEngine {
 public:
  RingEngine(BlockQueue& queue, const ScratchFile& file, FileDescriptor ring, const io_uring_params& params,
             unsigned depth)
      : queue_(queue),
        file_(file),
        params_(params),
        ring_(std::move(ring)),
        rings_(ring_.get(), ring_bytes(params), IORING_OFF_SQ_RING),
        entries_(ring_.get(), params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES),
        in_flight_(depth) {
    for (unsigned slot = 0; slot < depth; ++slot) free_.push_back(slot);
  }

  // False with errno when the rings could not be mapped, or no thread can be started.
  bool start() {
    if (!rings_ || !entries_) return false;
    try {
      thread_ = std::jthread([this] { run(); });
    } catch (const std::system_error& error) {
      errno = error.code().value();
      return false;
    }
    return true;
  }
  const char* name() const noexcept override { return "io_uring"; }

 private:
  unsigned busy() const { return static_cast<unsigned>(in_flight_.size() - free_.size()); }

  // Leaves when the queue is stopped and the kernel has given every block back.
  void run() {
    for (unsigned unsubmitted = 0; broken_ == 0;) {
      unsubmitted += fill();
      if (busy() == 0) return;
      enter(unsubmitted);
      reap();
    }
    for (uint32_t slot = 0; slot < in_flight_.size(); ++slot) {
      if (in_flight_[slot].bytes > 0) release(slot, -broken_);
    }
    while (const auto block = queue_.take(/*wait=*/true)) queue_.finish(*block, -broken_);
  }

  // Hands blocks to the kernel until `depth` are with it; waits for one when none is. Returns how many.
  unsigned fill() {
    unsigned added = 0;
    while (!free_.empty()) {
      const auto block = queue_.take(/*wait=*/busy() == 0);
      if (!block) break;
      push(*block);
      ++added;
    }
    return added;
  }

  void push(const Block& block) {
    const uint32_t slot = free_.back();
    free_.pop_back();
    in_flight_[slot] = block;
    uint32_t& tail = *rings_.at<uint32_t>(params_.sq_off.tail);  // only this thread writes it
    const uint32_t index = tail & *rings_.at<uint32_t>(params_.sq_off.ring_mask);
    io_uring_sqe& entry = entries_.at<io_uring_sqe>(0)[index];
    std::memset(&entry, 0, sizeof entry);
    entry.opcode = block.write ? IORING_OP_WRITE : IORING_OP_READ;
    entry.fd = file_.descriptor_for(block);
    entry.off = block.offset;
    entry.addr = reinterpret_cast<uintptr_t>(block.data);
    entry.len = static_cast<uint32_t>(block.bytes);
    entry.user_data = slot;
    rings_.at<uint32_t>(params_.sq_off.array)[index] = index;
    store(tail, tail + 1);
  }

  // Submits and waits for one completion, or for less when a signal comes or completions must be reaped
  // first.
  void enter(unsigned& unsubmitted) {
    const auto taken =
        ::syscall(__NR_io_uring_enter, ring_.get(), unsubmitted, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
    if (taken >= 0) {
      unsubmitted -= static_cast<unsigned>(taken);
    } else if (errno != EINTR && errno != EAGAIN && errno != EBUSY) {
      broken_ = errno;
    }
  }

  void reap() {
    uint32_t& head = *rings_.at<uint32_t>(params_.cq_off.head);
    const uint32_t mask = *rings_.at<uint32_t>(params_.cq_off.ring_mask);
    for (; head != load(*rings_.at<uint32_t>(params_.cq_off.tail)); store(head, head + 1)) {
      const io_uring_cqe& entry = rings_.at<io_uring_cqe>(params_.cq_off.cqes)[head & mask];
      release(static_cast<uint32_t>(entry.user_data), entry.res);
    }
  }

  void release(uint32_t slot, int64_t result) {
    queue_.finish(in_flight_[slot], result);
    in_flight_[slot].bytes = 0;
    free_.push_back(slot);
  }

  BlockQueue& queue_;
  const ScratchFile& file_;
  const io_uring_params params_;
  FileDescriptor ring_;
  SharedMap rings_, entries_;
  std::vector<Block> in_flight_;  // by slot; no bytes: free
  std::vector<uint32_t> free_;
  int broken_ = 0;       // errno of a ring that takes nothing any more
  std::jthread thread_;  // joins before the rest goes
};

}  // namespace

std::unique_ptr<BlockEngine> make_ring_engine(BlockQueue& queue, const ScratchFile& file, unsigned depth) {
  depth = std::clamp(depth, 1U, kMostEntries);
  io_uring_params params{};
  FileDescriptor ring(static_cast<int>(::syscall(__NR_io_uring_setup, depth, &params)));
  if (!ring) return nullptr;
  if ((params.features & kFeatures) != kFeatures) {
    errno = ENOSYS;
    return nullptr;
  }
  auto engine = std::make_unique<RingEngine>(queue, file, std::move(ring), params, depth);
  return engine->start() ? std::move(engine) : nullptr;
}

}  // namespace hftrain::storage

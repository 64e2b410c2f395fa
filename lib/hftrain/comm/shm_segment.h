// One rank's piece of shared memory, as its owner makes it and as its peers see it.
//
// The memory is an anonymous file (memfd) that exists only while somebody has it open: there is no name to
// clean up, whatever ends a process. Peers open it as /proc/<pid>/fd/<n>, which needs the same machine, user
// and process namespace. The owner holds a lock on the file which the kernel drops when the process ends, so
// that a peer can ask at any time whether the owner lives.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "hftrain/base/file.h"

namespace hftrain::comm {

// At the start of every segment. Only the owner writes, except `sleepers`.
struct SegmentHeader {
  alignas(64) std::atomic<uint32_t> progress;  // events published so far, modulo 2^32; a futex
  alignas(64) std::atomic<uint32_t> sleepers;  // how many peers sleep on `progress`
  alignas(64) std::atomic<uint32_t> aborted;   // 1: the owner has given the group up
  uint64_t nonce;                              // shows a peer that it opened the right file
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

class ShmSegment {
 public:
  // A new segment of this process, its memory already reserved. `owner` is for errors: "rank 3".
  static ShmSegment create(const std::string& owner, size_t bytes);
  // The segment of another process of this machine, by the address that its owner published.
  static ShmSegment open(const std::string& owner, const std::string& address, size_t bytes);

  ShmSegment(ShmSegment&& other) noexcept;
  ShmSegment& operator=(ShmSegment&&) = delete;
  ~ShmSegment();

  const std::string& address() const { return address_; }
  SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(memory_); }
  std::byte* data() const { return memory_ + sizeof(SegmentHeader); }
  // Whether the process that made it still runs. For peers.
  bool owner_lives() const;

 private:
  ShmSegment(FileDescriptor file, std::byte* memory, size_t mapped, std::string address)
      : file_(std::move(file)), memory_(memory), mapped_(mapped), address_(std::move(address)) {}

  FileDescriptor file_;
  std::byte* memory_;
  size_t mapped_;
  std::string address_;
};

}  // namespace hftrain::comm

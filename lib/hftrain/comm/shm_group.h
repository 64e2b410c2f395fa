// The ranks of one machine as they meet in shared memory: everybody's segment mapped, and progress words to
// wait for each other.
//
// All ranks go through the same sequence of events: the n-th event of a group is the same point of the same
// operation on every rank. So one counter per rank says everything: whoever needs data of another rank waits
// until that rank has published the event after writing it, and whoever overwrites data waits until its
// readers have published the event after reading it. Shared memory as such needs no locks.
//
// A wait spins for a few microseconds, then offers its core to others for a moment (the rank it waits for may
// have been placed on the same one), then sleeps on a futex. A sleeper looks every 20 ms whether a peer has
// died or given up and whether its deadline has passed: an exception c10::DistBackendError that says so. One
// thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "hftrain/comm/backend_table.h"
#include "hftrain/comm/shm_segment.h"

namespace hftrain::comm {

class ShmGroup {
 public:
  using Event = uint32_t;  // modulo 2^32

  // Maps the segments of all ranks, each of `segment_bytes`, and meets them.
  ShmGroup(const BackendRequest& request, size_t segment_bytes);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(segments_.size()); }
  std::byte* data(int rank) const { return segments_[static_cast<size_t>(rank)].data(); }

  // An operation begins: from now on it has the deadline of the group.
  void begin();
  // The next event of this rank. What it wrote before is seen by whoever waits for the event.
  Event publish();
  void wait_for(int rank, Event event);
  void wait_for_all(Event event);
  // Makes this and all later operations fail on all ranks. Any thread.
  void abort();
  // Throws: the ranks do not issue the same operations.
  [[noreturn]] void disagree(int rank) const;

 private:
  bool reached(int rank, Event event) const;
  bool reached_awake(int rank, Event event) const;
  void sleep_for(int rank, Event event);
  // Who has ended or given up, in words.
  std::optional<std::string> trouble_of_peers() const;
  std::string name(int rank) const;

  int rank_;
  std::vector<int> members_;
  std::chrono::milliseconds timeout_;
  Event published_ = 0;
  std::chrono::steady_clock::time_point deadline_;
  std::vector<ShmSegment> segments_;
};

}  // namespace hftrain::comm

// The key-value store through which ranks find each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace hftrain::comm {

// For a sound store on a busy machine, beside what ranks wait in it for each other.
inline constexpr std::chrono::milliseconds kStoreAnswers{5000};

struct StoreAddress {
  std::string host;  // of rank 0
  uint16_t port = 0;
  int listen_fd =
      -1;  // rank 0: the listening socket that the launcher has bound to `port`; the store takes it over
};

// Opens the store, on rank 0 as its server, and waits until all ranks have done so. kWorkerLost when the
// deadline passes, naming the ranks that did not come, or that rank 0 did not answer; kTerminatedUnsaved when it still waits two
// seconds after `stopped` has become true.
c10::intrusive_ptr<c10d::Store> open_store(const StoreAddress& address, int rank, int world_size,
                                           std::chrono::milliseconds deadline,
                                           const std::function<bool()>& stopped = nullptr);

// A question put to all ranks at a time when some of them may be gone: who has reached the point `name`?
// Those ranks of 0 … world_size-1 that have not are returned, after all have or after `patience`. Rank 0,
// whose end is the end of the store, returns only when the others have their answer, or have not asked for it
// within another `patience`. c10::DistError when the store is gone, or has not answered kStoreAnswers after that; Unwanted
// (own_thread.h) two seconds after `stopped` has become true.
std::vector<int> missing_at(const c10::intrusive_ptr<c10d::Store>& store, const std::string& name, int rank,
                            int world_size, std::chrono::milliseconds patience,
                            const std::function<bool()>& stopped = nullptr);

// "rank 3", "ranks 1, 2".
std::string name_ranks(const std::vector<int>& ranks);

}  // namespace hftrain::comm

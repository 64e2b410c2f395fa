// The key-value store through which ranks find each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"

namespace hftrain::comm {

// For a sound store on a busy machine, beside what ranks wait in it for each other.
inline constexpr std::chrono::milliseconds kStoreAnswers{5000};

struct StoreAddress {
  std::string host;  // of rank 0
  uint16_t port = 0;
  int listen_fd =
      -1;  // rank 0: the listening socket that the launcher has bound to `port`; the store takes it over
};

// Ranks did not come, as `error` says.
class RanksMissing : public Error {
 public:
  RanksMissing(Error error, std::vector<int> ranks) : Error(std::move(error)), ranks_(std::move(ranks)) {}
  const std::vector<int>& ranks() const noexcept { return ranks_; }  // by their numbers in the world

 private:
  std::vector<int> ranks_;
};

struct StopWish {
  std::string why;     // "a stop signal came"
  bool of_all = true;  // all ranks hear it, not this one alone
};

// Whether the run is to stop. Empty itself: nobody stops it. Any thread asks.
using StopReason = std::function<std::optional<StopWish>()>;

// The same as a question, for own_thread.h.
std::function<bool()> is_stopped(const StopReason& stopped);

// Opens the store, on rank 0 as its server, and waits until all ranks have done so. kWorkerLost when the
// deadline passes, naming the ranks that did not come, or that rank 0 did not answer; kTerminatedUnsaved, which names them too, when
// it still waits two seconds after there is a reason to stop.
c10::intrusive_ptr<c10d::Store> open_store(const StoreAddress& address, int rank, int world_size,
                                           std::chrono::milliseconds deadline,
                                           const StopReason& stopped = nullptr);

// A question put to all ranks at a time when some of them may be gone: who has reached the point `name`?
// Those ranks of 0 … world_size-1 that have not are returned, after all have or after `patience`. Rank 0,
// whose end is the end of the store, returns only when the others have their answer, or have not asked for it
// within another `patience`. c10::DistError when the store is gone, or has not answered kStoreAnswers after that; Unwanted
// (own_thread.h) two seconds after there is a reason to stop.
std::vector<int> missing_at(const c10::intrusive_ptr<c10d::Store>& store, const std::string& name, int rank,
                            int world_size, std::chrono::milliseconds patience,
                            const StopReason& stopped = nullptr);

// Says that this rank has come to the point `name`.
void announce(c10d::Store& store, const std::string& name, int rank);
// Those of ranks 0 … world_size-1 that have not said so, and nobody waits for them. The store is asked by a connection of its own, as
// another thread may wait in `store`. Nothing where it does not answer within a second.
std::optional<std::vector<int>> absent_at(const c10::intrusive_ptr<c10d::Store>& store,
                                          const std::string& name, int world_size);
// A group of ranks that connect to each other, in whose store they say that they begin to, and that they have done so.
struct ConnectingGroup {
  c10::intrusive_ptr<c10d::Store> store;  // of the group
  std::vector<int> members;               // by rank of the group: its number in the world
  int rank = 0;                           // this one's, in the group
  int all_ranks = 0;                      // of the world
};
void begin_connecting(const ConnectingGroup& group);
void end_connecting(const ConnectingGroup& group);
// By their numbers in the world: members that have not begun. As absent_at.
std::optional<std::vector<int>> not_connecting(const ConnectingGroup& group);
// Of a rank that leaves, as all are asked to: those of the world that do not within a second, and were to connect in this group or are
// about it in another. Rank 0 stays until the others have their answer, or another second.
std::optional<std::vector<int>> left_behind(const ConnectingGroup& group);

// The end of a rank that is stopped while it waits for others. `missing`: by their numbers in the world, of `world_size` that were
// to come; nothing: nobody could be asked.
RanksMissing stopped_waiting(const std::string& what, const std::string& place,
                             const std::optional<std::vector<int>>& missing, int world_size,
                             const StopReason& stopped);

// "1 of 4 ranks: rank 3"; of many only the first are named.
std::string name_missing_of(const std::vector<int>& missing, int world_size);
// "rank 3", "ranks 1, 2".
std::string name_ranks(const std::vector<int>& ranks);

}  // namespace hftrain::comm

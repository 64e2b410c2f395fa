#include "hftrain/comm/store.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "hftrain/base/text.h"
#include "hftrain/comm/own_thread.h"

namespace hftrain::comm {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

constexpr const char* kPresent = "present";
// In the store of a group: the rank begins to connect, and has done so. In that of all: it is about it, in some group.
constexpr const char* kConnecting = "connecting";
constexpr const char* kConnected = "connected";
constexpr const char* kUnderWay = "connecting-now";
// Of a rank that is leaving: others wait for its end.
constexpr std::chrono::milliseconds kStoreTells{1000};

// The handshake of TCPStore has no deadline: a rank 0 that has inherited the socket but never serves it would
// keep its clients for ever.
StorePointer connect(const StoreAddress& address, int rank, int world_size,
                     std::chrono::milliseconds deadline, const StopReason& stopped) {
  c10d::TCPStoreOptions options;
  options.port = address.port;
  options.isServer = rank == 0;
  options.numWorkers = static_cast<size_t>(world_size);
  options.waitWorkers = false;  // we wait ourselves, to be able to name who is missing
  options.timeout = deadline;
  if (rank == 0 && address.listen_fd >= 0) options.masterListenFd = address.listen_fd;
  return call_within(
      deadline,
      [host = address.host, options]() -> StorePointer {
        return c10::make_intrusive<c10d::TCPStore>(host, options);
      },
      is_stopped(stopped));
}

std::vector<std::string> keys_of(const std::string& name, const std::vector<int>& ranks) {
  std::vector<std::string> keys;
  for (const int rank : ranks) keys.push_back("hftrain/" + name + '/' + std::to_string(rank));
  return keys;
}

std::vector<int> without_key(c10d::Store& store, const std::string& name, const std::vector<int>& ranks) {
  std::vector<int> missing;
  for (const int rank : ranks) {
    if (!store.check(keys_of(name, {rank}))) missing.push_back(rank);
  }
  return missing;
}

std::vector<int> missing_of(c10d::Store& store, const std::string& name, const std::vector<int>& ranks,
                            std::chrono::milliseconds patience) {
  try {
    store.wait(keys_of(name, ranks), patience);
    return {};
  } catch (const c10::DistStoreError&) {
    // The patience is over. Any other exception means that the store is gone.
  }
  return without_key(store, name, ranks);
}

std::vector<int> all_of(int world_size) {
  std::vector<int> ranks(static_cast<size_t>(world_size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// Of all ranks, whatever the group.
StorePointer outermost(const StorePointer& store) {
  auto* prefixed = dynamic_cast<c10d::PrefixStore*>(store.get());
  return prefixed == nullptr ? store : prefixed->getUnderlyingNonPrefixStore();
}

int own_number(const ConnectingGroup& group) {
  return group.members.at(static_cast<size_t>(group.rank));
}

// A member that has not connected, by its number in the world.
bool is_awaited(c10d::Store& store, const std::vector<int>& members, int rank) {
  const auto place = std::find(members.begin(), members.end(), rank);
  return place != members.end() &&
         !without_key(store, kConnected, {static_cast<int>(place - members.begin())}).empty();
}

using Filter = std::function<void(std::vector<int>&)>;

// Waits for the store to answer, however long that takes. `filter` leaves of the missing what is returned; it may ask the store too,
// which rank 0 keeps until everybody has answered.
std::vector<int> ask_everybody(c10d::Store& store, const std::string& name, int rank, int world_size,
                               std::chrono::milliseconds patience, const Filter& filter = nullptr) {
  const std::vector<int> everybody = all_of(world_size);
  const std::string answered = name + "-answered";

  announce(store, name, rank);
  const std::vector<int> missing = missing_of(store, name, everybody, patience);
  if (missing.empty()) return missing;
  std::vector<int> told = missing;
  if (filter) filter(told);
  announce(store, answered, rank);
  if (rank == 0) {
    std::vector<int> present;
    std::set_difference(everybody.begin(), everybody.end(), missing.begin(), missing.end(),
                        std::back_inserter(present));
    missing_of(store, answered, present, patience);
  }
  return told;
}

}  // namespace

std::function<bool()> is_stopped(const StopReason& stopped) {
  if (!stopped) return nullptr;
  return [stopped] { return stopped().has_value(); };
}

void announce(c10d::Store& store, const std::string& name, int rank) {
  store.set(keys_of(name, {rank}).front(), std::vector<uint8_t>{1});
}

std::optional<std::vector<int>> absent_at(const StorePointer& store, const std::string& name,
                                          int world_size) {
  try {
    return call_within(kStoreTells, [store, name, world_size] {
      return without_key(*store->clone(), name, all_of(world_size));
    });
  } catch (const std::exception&) {
    return std::nullopt;  // rank 0 is frozen or gone, or no thread can be had
  }
}

void begin_connecting(const ConnectingGroup& group) {
  announce(*group.store, kConnecting, group.rank);
  announce(*outermost(group.store), kUnderWay, own_number(group));
}

void end_connecting(const ConnectingGroup& group) {
  announce(*group.store, kConnected, group.rank);
  outermost(group.store)->deleteKey(keys_of(kUnderWay, {own_number(group)}).front());
}

std::optional<std::vector<int>> not_connecting(const ConnectingGroup& group) {
  auto absent = absent_at(group.store, kConnecting, static_cast<int>(group.members.size()));
  if (absent)
    for (int& rank : *absent) rank = group.members.at(static_cast<size_t>(rank));
  return absent;
}

std::optional<std::vector<int>> left_behind(const ConnectingGroup& group) {
  try {
    return call_within((own_number(group) == 0 ? 4 : 3) * kStoreTells, [group] {
      const StorePointer own = group.store->clone(), world = outermost(own);
      const auto without_those_that_went_on = [&](std::vector<int>& silent) {
        std::erase_if(silent, [&](int rank) {
          return !is_awaited(*own, group.members, rank) && !without_key(*world, kUnderWay, {rank}).empty();
        });
      };
      return ask_everybody(*world, "leaving", own_number(group), group.all_ranks, kStoreTells,
                           without_those_that_went_on);
    });
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

RanksMissing stopped_waiting(const std::string& what, const std::string& place,
                             const std::optional<std::vector<int>>& missing, int world_size,
                             const StopReason& stopped) {
  std::string whom = "the others";
  if (!missing) {
    whom += "; the store of rank 0 does not say for whom";
  } else if (!missing->empty()) {
    whom = name_missing_of(*missing, world_size);
  }
  return {Error(ExitCode::kTerminatedUnsaved, what)
              .where(place)
              .why(stopped().value_or(StopWish{}).why + " while it waited for " + whom)
              .hint("start the run again; there was nothing to save"),
          missing.value_or(std::vector<int>{})};
}

std::string name_missing_of(const std::vector<int>& missing, int world_size) {
  constexpr size_t kMost = 16;
  const std::vector<int> first(missing.begin(), missing.begin() + std::min(missing.size(), kMost));
  const size_t more = missing.size() - first.size();
  return std::to_string(missing.size()) + " of " + std::to_string(world_size) +
         " ranks: " + name_ranks(first) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

std::string name_ranks(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks) names.push_back(std::to_string(rank));
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(names, ", ");
}

std::vector<int> missing_at(const StorePointer& store, const std::string& name, int rank, int world_size,
                            std::chrono::milliseconds patience, const StopReason& stopped) {
  return call_within((rank == 0 ? 2 : 1) * patience + kStoreAnswers,
                     [store, name, rank, world_size, patience] {
                       return ask_everybody(*store, name, rank, world_size, patience);
                     },
                     is_stopped(stopped));
}

StorePointer open_store(const StoreAddress& address, int rank, int world_size,
                        std::chrono::milliseconds deadline, const StopReason& stopped) {
  const std::string place =
      "rank " + std::to_string(rank) + ", store " + address.host + ':' + std::to_string(address.port);
  StorePointer store;
  try {
    store = connect(address, rank, world_size, deadline, stopped);
    const std::vector<int> missing = missing_at(store, kPresent, rank, world_size, deadline, stopped);
    if (missing.empty()) return store;
    throw RanksMissing(Error(ExitCode::kWorkerLost, name_ranks(missing) + " did not come to the rendezvous")
                           .where(place)
                           .why("waited " + std::to_string(deadline.count()) + " ms for " +
                                name_missing_of(missing, world_size))
                           .hint("see what those ranks did last; a larger --ddp_timeout waits longer"),
                       missing);
  } catch (const Unwanted&) {
    throw stopped_waiting("stopped before the ranks had found each other", place,
                          store ? absent_at(store, kPresent, world_size) : std::nullopt, world_size, stopped);
  } catch (const c10::DistError& error) {
    throw Error(ExitCode::kWorkerLost, "the rendezvous store of rank 0 does not answer")
        .where(place)
        .why(error.what_without_backtrace())
        .hint("see whether rank 0 still runs, and whether its machine can be reached from this one");
  }
}

}  // namespace hftrain::comm

#include "hftrain/comm/store.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/comm/own_thread.h"

namespace hftrain::comm {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

// The handshake of TCPStore has no deadline: a rank 0 that has inherited the socket but never serves it would
// keep its clients for ever.
StorePointer connect(const StoreAddress& address, int rank, int world_size,
                     std::chrono::milliseconds deadline, const std::function<bool()>& stopped) {
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
      stopped);
}

std::vector<std::string> keys_of(const std::string& name, const std::vector<int>& ranks) {
  std::vector<std::string> keys;
  for (const int rank : ranks) keys.push_back("hftrain/" + name + '/' + std::to_string(rank));
  return keys;
}

std::vector<int> missing_of(c10d::Store& store, const std::string& name, const std::vector<int>& ranks,
                            std::chrono::milliseconds patience) {
  try {
    store.wait(keys_of(name, ranks), patience);
    return {};
  } catch (const c10::DistStoreError&) {
    // The patience is over. Any other exception means that the store is gone.
  }
  std::vector<int> missing;
  for (const int rank : ranks) {
    if (!store.check(keys_of(name, {rank}))) missing.push_back(rank);
  }
  return missing;
}

// Waits for the store to answer, however long that takes.
std::vector<int> ask_everybody(c10d::Store& store, const std::string& name, int rank, int world_size,
                               std::chrono::milliseconds patience) {
  std::vector<int> everybody(static_cast<size_t>(world_size));
  for (int i = 0; i < world_size; ++i) everybody[static_cast<size_t>(i)] = i;
  const std::vector<uint8_t> yes{1};
  const std::string answered = name + "-answered";

  store.set(keys_of(name, {rank}).front(), yes);
  const std::vector<int> missing = missing_of(store, name, everybody, patience);
  if (missing.empty()) return missing;
  store.set(keys_of(answered, {rank}).front(), yes);
  if (rank == 0) {
    std::vector<int> present;
    std::set_difference(everybody.begin(), everybody.end(), missing.begin(), missing.end(),
                        std::back_inserter(present));
    missing_of(store, answered, present, patience);
  }
  return missing;
}

}  // namespace

std::string name_ranks(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks) names.push_back(std::to_string(rank));
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(names, ", ");
}

std::vector<int> missing_at(const StorePointer& store, const std::string& name, int rank, int world_size,
                            std::chrono::milliseconds patience, const std::function<bool()>& stopped) {
  return call_within((rank == 0 ? 2 : 1) * patience + kStoreAnswers,
                     [store, name, rank, world_size, patience] {
                       return ask_everybody(*store, name, rank, world_size, patience);
                     },
                     stopped);
}

StorePointer open_store(const StoreAddress& address, int rank, int world_size,
                        std::chrono::milliseconds deadline, const std::function<bool()>& stopped) {
  const std::string place =
      "rank " + std::to_string(rank) + ", store " + address.host + ':' + std::to_string(address.port);
  try {
    StorePointer store = connect(address, rank, world_size, deadline, stopped);
    const std::vector<int> missing = missing_at(store, "present", rank, world_size, deadline, stopped);
    if (missing.empty()) return store;
    throw Error(ExitCode::kWorkerLost, name_ranks(missing) + " did not come to the rendezvous")
        .where(place)
        .why("waited " + std::to_string(deadline.count()) + " ms")
        .hint("see what those ranks did last; a larger --ddp_timeout waits longer");
  } catch (const Unwanted&) {
    throw Error(ExitCode::kTerminatedUnsaved, "stopped before the ranks had found each other")
        .where(place)
        .why("a stop signal came while it waited for the others")
        .hint("start the run again; there was nothing to save");
  } catch (const c10::DistError& error) {
    throw Error(ExitCode::kWorkerLost, "the rendezvous store of rank 0 does not answer")
        .where(place)
        .why(error.what_without_backtrace())
        .hint("see whether rank 0 still runs, and whether its machine can be reached from this one");
  }
}

}  // namespace hftrain::comm

// Which backends there are, by the name that the plan uses.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/status_page.h"
#include "hftrain/comm/store.h"
#include "hftrain/comm/work_watch.h"

namespace hftrain::comm {

struct BackendRequest {
  c10::intrusive_ptr<c10d::Store> store;
  std::string backend;  // the name in the table
  int rank = 0;
  int world_size = 1;
  int all_ranks = 1;         // of the world, where this is a group within it
  std::vector<int> members;  // by rank: what it is called in messages, its rank in the world
  bool one_machine = true;   // all ranks are on this machine
  std::string master_host;   // where rank 0 is; used with several nodes
  std::string interfaces;    // GroupOptions::interfaces
  c10::Device device{c10::DeviceType::CPU};
  std::chrono::milliseconds timeout{};
  std::chrono::milliseconds patience{};  // GroupOptions::patience
  StatusPage* status = nullptr;          // where operations are noted; null: nowhere
  // wait() of the backend's works may return before they are over, as a GPU's does: their deadline is kept by a watch
  // (work_watch.h), which tells `lost`, on a thread of its own, what it has found, since nobody may come to ask.
  bool watched = false;
  std::function<void(const Error&)> lost{};
  // Of a work that holds its tensors as long as it lives: one that says the same and holds none, for the watch, which comes to know
  // that it is over when its tensors' memory may long be wanted by others. Empty: the work itself is watched.
  WorkWatch::StandIn stand_in{};
  StopReason stopped{};  // GroupOptions::stopped
};

using BackendMaker = std::function<c10::intrusive_ptr<c10d::Backend>(const BackendRequest&)>;

// Holds "gloo" and "shm"; whoever has loaded a plug-in adds its own:
//   table["nccl"] = [plugin](const BackendRequest& r) { return plugin->make_nccl_backend(…); };
using BackendTable = std::map<std::string, BackendMaker>;
BackendTable builtin_backends();

}  // namespace hftrain::comm

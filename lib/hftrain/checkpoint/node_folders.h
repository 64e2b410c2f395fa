// Output folders of a run: one that all nodes share, or, with save_on_each_node, one of each node that does
// not see node 0's. What rank 0 commits in the first, local rank 0 of such a node commits in its own; the
// files of all ranks go to every folder.
#pragma once

#include <string>
#include <vector>

#include "hftrain/comm/communicator.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/storage/file_system.h"
#include "hftrain/storage/manifest.h"

namespace hftrain::checkpoint {

class NodeFolders {
 public:
  explicit NodeFolders(const plan::RunPlan& plan);

  bool several() const noexcept { return further_; }
  // The rank that commits in the folder of `rank`.
  int committer(int rank) const { return further_ ? committers_.at(static_cast<size_t>(rank)) : 0; }
  bool commits(int rank) const { return committer(rank) == rank; }

 private:
  bool further_;
  std::vector<int> committers_;  // by rank
};

// Collective: what all ranks have written, by rank.
std::vector<std::vector<storage::FileRecord>> join_records(comm::Communicator& communicator,
                                                           const std::vector<storage::FileRecord>& own);

// Collective. `records`: the files that each rank has written below `folder`, the folder of its node and the
// same path for all ranks of a node. Each is copied to the other nodes' folders, durably. A rank's own
// failure is thrown when all are through; the others do not know of it.
void spread_files(comm::Communicator& communicator, const NodeFolders& nodes,
                  const std::vector<std::vector<storage::FileRecord>>& records, const std::string& folder,
                  storage::FileSystem& files);

}  // namespace hftrain::checkpoint

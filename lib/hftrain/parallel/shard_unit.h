// The parameters of one unit of the plan: gathered, reduced and freed together, each with one operation; gradients of parameters in one
// part, which all ranks of the world reduce, with one more, but for large ones, which have one each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/comm/communicator.h"
#include "hftrain/parallel/sharded_parameter.h"

namespace hftrain::parallel {

// Who takes part in what. A parameter in parts lives on the shard group, each part equal along the replicate
// group; a parameter in one part is equal on all ranks of the world.
struct ShardGroups {
  comm::Communicator* world;
  comm::Communicator* shard;
  comm::Communicator* replicate;
};

// Bytes of buffers that are not resident, over all units of a rank.
struct GatheredBytes {
  int64_t now = 0;
  int64_t peak = 0;
};

// One thread at a time. Operations run while the caller computes; each started one is finished by the
// function that says so, and the units of a rank start theirs in the same order as on all other ranks.
class ShardUnit {
 public:
  // The parameters, groups and counter outlive the unit. `reshard`: freed between forward and backward.
  ShardUnit(std::string name, std::vector<ShardedParameter*> parameters, bool reshard,
            const ShardGroups& groups, GatheredBytes& gathered);
  ~ShardUnit();
  ShardUnit(const ShardUnit&) = delete;
  ShardUnit& operator=(const ShardUnit&) = delete;

  const std::string& name() const { return name_; }
  bool reshard() const { return reshard_; }
  const std::vector<ShardedParameter*>& parameters() const { return parameters_; }
  int trainable_parameters() const;

  // Shards on NVMe will be needed soon: reading begins.
  void expect();
  // The parameters as they are in all shards. start_gather is no-op when they are here or on their way.
  void start_gather();
  void finish_gather();
  // Frees the buffers that are not resident; the next use gathers again.
  void release();
  // The shards have changed: what has been gathered is out of date.
  void invalidate();

  // Averages the gradients over the ranks and adds each rank's part to its shards' gradients. In between, where there are
  // replicas: average_replicas waits until the parts are here, and sends them on their way between the groups (true; false:
  // nothing is left to wait for).
  void start_reduction();
  bool average_replicas();
  void finish_reduction();
  bool reducing() const { return reduction_ != nullptr; }
  // Gradients of offloaded parameters that are on their way to the host are there when it returns, and added.
  void settle_gradients();

 private:
  struct Reduction;
  void add_reduced(const Reduction& reduction);

  std::string name_;
  std::vector<ShardedParameter*> parameters_;
  bool reshard_;
  ShardGroups groups_;
  GatheredBytes& gathered_;
  int64_t transient_bytes_ = 0;  // of the buffers that come and go
  bool whole_ = false;           // gathered, or on the way
  bool allocated_ = false;
  std::optional<comm::PendingOperation> gather_;
  std::optional<HostCopies::Mark> fetched_;  // of offloaded parameters
  std::unique_ptr<Reduction> reduction_;
  std::optional<HostCopies::Mark> arriving_;  // behind the copies of this unit's gradients
};

}  // namespace hftrain::parallel

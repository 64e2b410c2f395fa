// The two axes of a world of replicate × shard ranks. The ranks of one shard group are neighbours, so that
// they lie on one machine wherever the axis fits there:
//
//   rank = replicate_index * shard + shard_index
//
// replicate 2, shard 2:   shard groups {0, 1} {2, 3}    replicate groups {0, 2} {1, 3}
#pragma once

#include <memory>

#include "hftrain/comm/communicator.h"

namespace hftrain::comm {

class Mesh {
 public:
  // All ranks of the world call it; replicate * shard == world size. An axis that covers the world is the
  // world itself, an axis of one a group of one. `world` must outlive the mesh.
  Mesh(Communicator& world, int replicate, int shard);

  Communicator& shard() const { return *shard_; }          // ranks that together hold the model once
  Communicator& replicate() const { return *replicate_; }  // ranks that hold the same part of it

 private:
  Communicator* shard_;
  Communicator* replicate_;
  std::unique_ptr<Communicator> own_shard_;
  std::unique_ptr<Communicator> own_replicate_;
};

}  // namespace hftrain::comm

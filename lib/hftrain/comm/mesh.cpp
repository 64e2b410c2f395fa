#include "hftrain/comm/mesh.h"

namespace hftrain::comm {

Mesh::Mesh(Communicator& world, int replicate, int shard) : shard_(&world), replicate_(&world) {
  if (replicate < 1 || shard < 1 || replicate * shard != world.world_size()) {
    throw Error(ExitCode::kInternal, "a mesh of " + std::to_string(replicate) + " x " +
                                         std::to_string(shard) + " does not hold " +
                                         std::to_string(world.world_size()) + " ranks");
  }
  const int row = world.rank() / shard, column = world.rank() % shard;
  if (shard != world.world_size()) {
    std::vector<int> ranks;
    for (int i = 0; i < shard; ++i) ranks.push_back(row * shard + i);
    own_shard_ = world.subgroup(ranks, "shard-" + std::to_string(row));
    shard_ = own_shard_.get();
  }
  if (replicate != world.world_size()) {
    std::vector<int> ranks;
    for (int i = 0; i < replicate; ++i) ranks.push_back(i * shard + column);
    own_replicate_ = world.subgroup(ranks, "replicate-" + std::to_string(column));
    replicate_ = own_replicate_.get();
  }
}

}  // namespace hftrain::comm

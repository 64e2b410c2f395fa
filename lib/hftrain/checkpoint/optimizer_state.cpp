#include "hftrain/checkpoint/optimizer_state.h"

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/checkpoint/state_parts.h"
#include "hftrain/storage/sharded_state.h"

namespace hftrain::checkpoint {
namespace {

using parallel::Access;
using parallel::StatePart;

constexpr const char* kFolder = "optimizer";

const storage::SlicedTensor& find_state(const storage::ShardedState& saved, const StatePart& part,
                                        const std::string& checkpoint) {
  const auto found = saved.tensors().find(stored_name(part));
  const bool known = found != saved.tensors().end();
  if (known && found->second.shape == stored_shape(part)) return found->second;
  throw Error(ExitCode::kData, "the optimizer state does not fit: '" + stored_name(part) + "'")
      .where(checkpoint)
      .why(known ? "its shape differs" : "it is not in the checkpoint")
      .hint("resume with the model and --optim of the checkpoint");
}

}  // namespace

void save_optimizer(parallel::Strategy& strategy, int rank, SaveTarget& target) {
  save_parts([&](const auto& visitor, Access access) { strategy.visit_optimizer_state(visitor, access); },
             kFolder, rank, target);
}

void load_optimizer(parallel::Strategy& strategy, const std::string& checkpoint,
                    const storage::ByteProgress& progress) {
  bool any = false;  // an optimizer without state has no folder
  strategy.visit_optimizer_state([&](const StatePart&) { any = true; }, Access::kLayout);
  if (!any) return;
  const std::string folder = checkpoint + '/' + kFolder;
  if (!path_exists(folder))
    throw Error(ExitCode::kData, "the checkpoint holds no state of an optimizer")
        .where(checkpoint)
        .why("that of its run keeps nothing of the gradients, and this run's does")
        .hint("go on with --optim and --optim_args of the checkpoint");
  const storage::ShardedState saved(folder);
  strategy.visit_optimizer_state(
      [&](const StatePart& part) {
        const storage::SlicedTensor& tensor = find_state(saved, part, checkpoint);
        fill(part.tensor, tensor.dtype,
             [&](std::span<char> bytes) { storage::read_box(tensor, stored_box(part), bytes, folder); });
        if (progress) progress(part.tensor.nbytes());
      },
      Access::kWrite);
}

}  // namespace hftrain::checkpoint

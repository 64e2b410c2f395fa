#include "hftrain/checkpoint/optimizer_state.h"

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"
#include "hftrain/checkpoint/state_parts.h"
#include "hftrain/storage/sharded_state.h"

namespace hftrain::checkpoint {
namespace {

using parallel::Access;
using parallel::StatePart;

constexpr const char* kFolder = "optimizer";
constexpr const char* kOptimizerOfCheckpoint =
    "go on with --optim and --optim_args of the checkpoint, or begin a new run from its weights with "
    "--model_name_or_path";

const storage::SlicedTensor& find_state(const storage::ShardedState& saved, const StatePart& part,
                                        const std::string& checkpoint) {
  const auto found = saved.tensors().find(stored_name(part));
  const bool known = found != saved.tensors().end();
  if (known && found->second.shape == stored_shape(part)) return found->second;
  throw Error(ExitCode::kData, "the optimizer state does not fit: '" + stored_name(part) + "'")
      .where(checkpoint)
      .why(known ? "its shape differs" : "it is not in the checkpoint")
      .hint("resume with the model, --optim and --optim_args of the checkpoint");
}

// What no rank takes would be lost without a word: torch would go on with the options that made it.
void check_kept(const storage::ShardedState& saved, const std::vector<std::string>& kept,
                const std::string& checkpoint) {
  for (const auto& [name, tensor] : saved.tensors()) {
    const auto is_of = [&](const std::string& state) { return name.ends_with('.' + state); };
    if (std::any_of(kept.begin(), kept.end(), is_of)) continue;
    throw Error(ExitCode::kData,
                "the checkpoint keeps more of the optimizer than this run: '" + printable(name) + "'")
        .where(checkpoint)
        .why("this run's keeps " + (kept.empty() ? "nothing" : join(kept, ", ")) + " of a parameter")
        .hint(kOptimizerOfCheckpoint);
  }
}

}  // namespace

std::vector<std::string> kept_states(parallel::Strategy& strategy) {
  std::vector<std::string> names;
  strategy.visit_optimizer_state(
      [&](const StatePart& part) {
        if (std::find(names.begin(), names.end(), part.state) == names.end()) names.push_back(part.state);
      },
      Access::kLayout);
  return names;
}

void save_optimizer(parallel::Strategy& strategy, int rank, SaveTarget& target) {
  save_parts([&](const auto& visitor, Access access) { strategy.visit_optimizer_state(visitor, access); },
             kFolder, rank, target);
}

void load_optimizer(parallel::Strategy& strategy, const std::vector<std::string>& kept,
                    const std::string& checkpoint, const storage::ByteProgress& progress) {
  const std::string folder = checkpoint + '/' + kFolder;
  if (!path_exists(folder)) {  // that of an optimizer without state
    if (kept.empty()) return;
    throw Error(ExitCode::kData, "the checkpoint holds no state of an optimizer")
        .where(checkpoint)
        .why("that of its run keeps nothing of the gradients, and this run's does")
        .hint(kOptimizerOfCheckpoint);
  }
  const storage::ShardedState saved(folder);
  check_kept(saved, kept, checkpoint);
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

// Model weights to and from folders, under the exact transformers names, part by part as the strategy holds
// them.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/ScalarType.h>

#include <string>
#include <vector>

#include "hftrain/architectures/adapter.h"
#include "hftrain/architectures/architecture.h"
#include "hftrain/checkpoint/save_target.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/storage/stored_weights.h"
#include "hftrain/storage/watched_file_system.h"

namespace hftrain::checkpoint {

// Whether the files must hold the head's parameters. They are those of another head when a model is opened for
// another task than it was saved from.
enum class StoredHead { kThisOne, kAnother };

// How a folder may differ from the model that is opened from it.
struct OpeningRules {
  StoredHead head = StoredHead::kThisOne;
  // A parameter of another shape is left as it was; otherwise it is an Error, which names this way out when `told`.
  bool ignore_mismatched_sizes = false;
  bool told = false;
  std::vector<plan::GrownParameter> grown = {};  // whose last rows the files do not have
  at::Generator generator = {};                  // what these are drawn from; equal on all ranks
  at::ScalarType compared = at::kFloat;          // in which copies of a tied matrix are the same
};

struct LoadedWeights {
  struct Mismatch {
    std::string name;
    std::vector<int64_t> stored, wanted;  // shapes
  };
  std::vector<std::string>
      unused;  // stored tensors that nothing asked for, apart from known buffers: worth a warning
  std::vector<std::string> missing;   // parameters of the head that are left as they were
  std::vector<std::string> adapters;  // parameters of adapters, which are in no such files: left as they were
  std::vector<Mismatch> mismatched;   // parameters of another shape that are left as they were
};

// Fills this rank's parts of the parameters from `weights` and reads no other bytes of the files, but for those that
// added rows are made of. A stored
// name may lack the base prefix ("h.0…" for "transformer.h.0…"), have that of another head of the family, or
// stand under its tied alias. Error(kData) for a missing tensor, a wrong shape, or tied tensors that differ in
// the file. `progress` is told of every part.
LoadedWeights load_weights(const architectures::ParameterTable& table, const storage::StoredWeights& weights,
                           parallel::Strategy& strategy, const storage::ByteProgress& progress = {},
                           const OpeningRules& rules = {});

// The errors of load_weights about names and shapes, before anything is changed.
void check_stored(const architectures::ParameterTable& table, const storage::StoredWeights& weights);

// Collective. Gathers every parameter, one at a time, and writes them to `target`, which is null on all ranks
// but 0, as model.safetensors or as shards of at most `max_shard_bytes` and their index. `dtype` is that of
// the parameters. A failure to write is thrown when all ranks are through.
void save_weights(const architectures::ParameterTable& table, at::ScalarType dtype,
                  parallel::Strategy& strategy, int64_t max_shard_bytes, SaveTarget* target);

// The same of what is trained beside a frozen model: `saved` are positions in the table, adapters and modules that are
// saved whole. One file, adapter_model.safetensors, under peft's names; adapters are float32.
// `copies` stand in the file, too, for peft looks for them.
void save_adapter(const architectures::ParameterTable& table, at::ScalarType dtype,
                  const std::vector<size_t>& saved, const std::vector<architectures::SavedCopy>& copies,
                  parallel::Strategy& strategy, SaveTarget* target);
// Fills this rank's parts of just these parameters from `weights`, which are those of an adapter_model.safetensors. Returns names
// among them that nothing asked for. Error(kData) for a missing tensor, a wrong shape, a copy of `spec` among them that is not what
// it is a copy of (peft trained it apart), or a tensor of a module that `spec` names and the model does not have.
std::vector<std::string> load_adapter(const architectures::ParameterTable& table,
                                      const std::vector<size_t>& saved,
                                      const architectures::AdapterSpec& spec,
                                      const storage::StoredWeights& weights, parallel::Strategy& strategy,
                                      const storage::ByteProgress& progress = {});

// Its errors about names and shapes, before anything is changed.
void check_stored_adapter(const architectures::ParameterTable& table, const std::vector<size_t>& saved,
                          const architectures::AdapterSpec& spec, const storage::StoredWeights& weights);

// This rank's parts, to model/ (see state_parts.h).
void save_sharded_weights(parallel::Strategy& strategy, int rank, SaveTarget& target);

}  // namespace hftrain::checkpoint

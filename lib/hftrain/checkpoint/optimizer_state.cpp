#include "hftrain/checkpoint/optimizer_state.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <map>

#include "hftrain/base/error.h"
#include "hftrain/checkpoint/tensor_bytes.h"
#include "hftrain/storage/sharded_state.h"

namespace hftrain::checkpoint {
namespace {

constexpr const char* kFolder = "optimizer";

std::string stored_name(const parallel::StatePart& part) {
  return part.parameter + '.' + part.state;
}

// Scalars are stored as one element: consolidators of the layout lose tensors without dimensions.
std::vector<int64_t> at_least_one_dim(std::vector<int64_t> values, int64_t otherwise) {
  if (values.empty()) values.push_back(otherwise);
  return values;
}

storage::TensorSlice slice_of(const parallel::StatePart& part) {
  storage::TensorSlice slice{entry_of(stored_name(part), part.tensor), at_least_one_dim(part.offset, 0)};
  slice.entry.shape = at_least_one_dim(slice.entry.shape, 1);
  return slice;
}

}  // namespace

void save_optimizer(parallel::Strategy& strategy, int rank, storage::StagedFiles& target) {
  std::vector<storage::TensorSlice> slices;
  std::vector<storage::TensorEntry> entries;
  std::map<std::string, at::Tensor> tensors;
  strategy.visit_optimizer_state(
      [&](const parallel::StatePart& part) {
        if (!part.written_here) return;
        slices.push_back(slice_of(part));
        entries.push_back(slices.back().entry);
        tensors[slices.back().entry.name] = part.tensor;
      },
      parallel::Access::kRead);
  if (entries.empty()) return;
  storage::SafetensorsWriter writer =
      target.open_safetensors(std::string(kFolder) + '/' + storage::shard_file_name(rank), entries,
                              storage::sharding_metadata(slices));
  for (const storage::TensorEntry& entry : std::vector(writer.entries())) {
    const at::Tensor host = to_host(tensors.at(entry.name));
    writer.write(entry.name, bytes_of(host));
  }
  target.close(writer);
}

void load_optimizer(parallel::Strategy& strategy, const std::string& checkpoint) {
  bool any = false;  // an optimizer without state has no folder
  strategy.visit_optimizer_state([&](const parallel::StatePart&) { any = true; }, parallel::Access::kRead);
  if (!any) return;
  const storage::ShardedState saved(checkpoint + '/' + kFolder);
  const at::NoGradGuard no_grad;
  strategy.visit_optimizer_state(
      [&](const parallel::StatePart& part) {
        const std::string name = stored_name(part);
        const auto found = saved.tensors().find(name);
        if (found == saved.tensors().end() || found->second.shape != at_least_one_dim(part.shape, 1)) {
          throw Error(ExitCode::kData, "the optimizer state does not fit: '" + name + "'")
              .where(checkpoint)
              .why(found == saved.tensors().end() ? "it is not in the checkpoint" : "its shape differs")
              .hint("resume with the model and --optim of the checkpoint");
        }
        at::Tensor host = at::empty(part.tensor.sizes(), part.tensor.options().device(at::kCPU));
        saved.read(name, at_least_one_dim(part.offset, 0), at_least_one_dim(part.tensor.sizes().vec(), 1),
                   {static_cast<char*>(host.mutable_data_ptr()), host.nbytes()});
        part.tensor.copy_(host);
      },
      parallel::Access::kWrite);
}

}  // namespace hftrain::checkpoint

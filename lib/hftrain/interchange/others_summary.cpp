#include "hftrain/interchange/others_summary.h"

#include <utility>
#include <vector>

#include "hftrain/base/file.h"
#include "hftrain/interchange/dcp_folder.h"
#include "hftrain/interchange/fsdp_folder.h"
#include "hftrain/interchange/trainer_folder.h"

namespace hftrain::interchange {
namespace {

using storage::CheckpointSummary;
using storage::TensorSummary;

TensorSummary summary_of(std::string name, const storage::SlicedTensor& tensor,
                         std::vector<std::string> files) {
  return {{std::move(name), tensor.dtype, tensor.shape}, std::move(files)};
}

std::vector<TensorSummary> summarize_dcp(const DcpFolder& folder, const std::string& begin) {
  std::vector<TensorSummary> tensors;
  for (const auto& [name, tensor] : folder.tensors()) {
    std::vector<std::string> files;
    for (const std::string& file : folder.files().at(name)) files.push_back(begin + file);
    tensors.push_back(summary_of(name, tensor, std::move(files)));
  }
  return tensors;
}

constexpr const char* kAdapterFile = "adapter_model.safetensors";

// By their numbers, as the file has them.
std::vector<TensorSummary> summarize_optimizer_file(const std::string& folder) {
  std::vector<TensorSummary> tensors;
  const TrainerOptimizer optimizer(folder);
  for (const auto& [key, tensor] : optimizer.all())
    tensors.push_back(
        summary_of("state." + std::to_string(key.first) + '.' + key.second, tensor, {kOptimizerFile}));
  return tensors;
}

CheckpointSummary summarize_trainers(const std::string& folder) {
  CheckpointSummary summary;
  summary.path = folder;
  const bool parts = has_fsdp_optimizer(folder) || has_fsdp_model(folder);
  summary.writer = {parts ? "transformers' Trainer, in the parts of FSDP" : "transformers' Trainer",
                    step_of_trainer(folder)};
  const bool adapter = path_exists(folder + '/' + kAdapterFile);
  summary.weights = storage::summarize_weights(adapter ? storage::StoredWeights(folder, kAdapterFile)
                                                       : open_weights(folder));
  if (path_exists(folder + '/' + kOptimizerFile)) {
    summary.optimizer = summarize_optimizer_file(folder);
  } else if (has_fsdp_optimizer(folder)) {
    const std::string name = kFsdpOptimizer;
    summary.optimizer = summarize_dcp(DcpFolder(folder + '/' + name), name + '/');
  }
  return summary;
}

// An optimizer's state stands among the weights, under a name of its own.
CheckpointSummary summarize_dcp_alone(const std::string& folder) {
  CheckpointSummary summary;
  summary.path = folder;
  summary.writer = {"torch.distributed.checkpoint", std::nullopt};
  for (TensorSummary& tensor : summarize_dcp(DcpFolder(folder), "")) {
    const bool of_optimizer = tensor.entry.name.starts_with("optim");
    (of_optimizer ? summary.optimizer : summary.weights).push_back(std::move(tensor));
  }
  return summary;
}

}  // namespace

std::optional<CheckpointSummary> summarize_others(const std::string& folder) {
  const bool own_output = path_exists(folder + "/hftrain");  // the end of a run of ours
  if (is_of_trainer(folder) && !own_output) return summarize_trainers(folder);
  if (is_dcp_folder(folder)) return summarize_dcp_alone(folder);
  return std::nullopt;
}

}  // namespace hftrain::interchange

#include "hftrain/interchange/others_summary.h"

#include <utility>
#include <vector>

#include "hftrain/base/file.h"
#include "hftrain/interchange/dcp_folder.h"
#include "hftrain/interchange/deepspeed_folder.h"
#include "hftrain/interchange/fsdp_folder.h"
#include "hftrain/interchange/optimizer_states.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/storage/model_folder.h"

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

// By their numbers, as the file has them.
std::vector<TensorSummary> summarize_optimizer_file(const std::string& folder) {
  std::vector<TensorSummary> tensors;
  const TrainerOptimizer optimizer(folder);
  for (const auto& [key, tensor] : optimizer.all())
    tensors.push_back(
        summary_of("state." + std::to_string(key.first) + '.' + key.second, tensor, {kOptimizerFile}));
  return tensors;
}

std::vector<TensorSummary> summarize_states(const OptimizerStates& states) {
  std::vector<TensorSummary> tensors;
  for (const auto& [key, tensor] : states.all())
    tensors.push_back(
        summary_of(key.first + '.' + key.second, *tensor, states.files_of(key.first, key.second)));
  return tensors;
}

std::vector<TensorSummary> summarize_optimizer(const std::string& folder) {
  if (path_exists(folder + '/' + kOptimizerFile)) return summarize_optimizer_file(folder);
  const std::string parts = kFsdpOptimizer;
  if (is_dcp_folder(folder + '/' + parts)) return summarize_dcp(DcpFolder(folder + '/' + parts), parts + '/');
  if (has_fsdp_optimizer(folder) || has_deepspeed(folder))
    return summarize_states(open_named_optimizer(folder));
  return {};
}

const char* writer_of(const std::string& folder) {
  const bool parts = is_dcp_folder(folder + '/' + kFsdpOptimizer) || is_dcp_folder(folder + '/' + kFsdpModel);
  if (parts) return "transformers' Trainer, in the parts of FSDP";
  if (has_fsdp_optimizer(folder) || has_fsdp_model(folder)) return "transformers' Trainer, with FSDP";
  if (has_universal(folder)) return "transformers' Trainer, in DeepSpeed's universal form";
  return has_deepspeed(folder) ? "transformers' Trainer, in the parts of DeepSpeed" : "transformers' Trainer";
}

// What a run goes on from.
storage::StoredWeights weights_of(const std::string& folder) {
  if (!storage::holds_adapter_alone(folder)) return open_saved_weights(folder);
  if (!has_deepspeed(folder)) return storage::StoredWeights(folder, storage::kAdapterName);
  return open_deepspeed_trained(folder, [](const std::string& name) { return name; });
}

CheckpointSummary summarize_trainers(const std::string& folder) {
  CheckpointSummary summary;
  summary.path = folder;
  summary.writer = {writer_of(folder), step_of_trainer(folder)};
  summary.weights = storage::summarize_weights(weights_of(folder));
  summary.optimizer = summarize_optimizer(folder);
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

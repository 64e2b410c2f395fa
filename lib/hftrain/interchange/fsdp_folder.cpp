#include "hftrain/interchange/fsdp_folder.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/printable.h"
#include "hftrain/interchange/torch_tensors.h"

namespace hftrain::interchange {
namespace {

constexpr std::string_view kBelowModel = "model.";

Error not_of_fsdp(const std::string& path, const std::string& why) {
  return Error(ExitCode::kData, "not what accelerate leaves of FSDP")
      .where(path)
      .why(why)
      .hint("use a checkpoint of the Trainer's; --model_name_or_path starts a new run from whole weights");
}

std::string without(std::string_view begin, const std::string& name, const std::string& path) {
  if (name.starts_with(begin)) return name.substr(begin.size());
  throw not_of_fsdp(path, "'" + printable(name) + "' is not below '" + std::string(begin) + "'");
}

storage::StoredWeights open_model_folder(const std::string& checkpoint, Checksums checksums) {
  const auto folder = std::make_shared<const DcpFolder>(checkpoint + '/' + kFsdpModel, checksums);
  storage::FoundWeights found{checkpoint, {}, {}, folder};
  for (const auto& [saved, tensor] : folder->tensors()) {
    const std::string name = without(kBelowModel, saved, folder->path());
    storage::SlicedTensor& own = found.tensors.emplace(name, tensor).first->second;
    own.name = name;
    std::vector<std::string>& files = found.files[name];
    for (const std::string& file : folder->files().at(saved))
      files.push_back(std::string(kFsdpModel) + '/' + file);
  }
  if (found.tensors.empty()) throw not_of_fsdp(folder->path(), "it holds no tensor");
  return storage::StoredWeights(std::move(found));
}

bool is_of_optimizer(const std::string& saved) {
  return saved.starts_with("optim");
}

OptimizerStates open_optimizer_folder(const std::string& checkpoint, Checksums checksums) {
  const auto folder = std::make_shared<const DcpFolder>(checkpoint + '/' + kFsdpOptimizer, checksums);
  OptimizerStates states(folder->path(), folder);
  for (const auto& [saved, tensor] : folder->tensors()) {
    if (saved.starts_with("optimizer.param_groups."))
      continue;  // settings that are tensors: this run has flags
    const std::string name = without("optimizer.state.", saved, folder->path());
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos)
      throw not_of_fsdp(folder->path(), "'" + printable(saved) + "' names no state of a parameter");
    states.add(name.substr(0, dot), name.substr(dot + 1), tensor);
  }
  return states;
}

// A file of torch.save and the tensors that were taken of it.
struct StateFile {
  StateFile(const std::string& path, Checksums checksums) : file(path) {
    if (checksums == Checksums::kCompared) file.check();
  }
  // Of a dict by names, each of which occurs once.
  std::vector<std::pair<TorchValue, TorchValue>> entries(const TorchValue& dict, const char* what) const {
    if (dict.count(what) > kMostTensors)
      throw unusable_state(file.path(),
                           std::string(what) + " has more than " + std::to_string(kMostTensors) + " entries");
    std::vector<std::pair<TorchValue, TorchValue>> pairs = dict.pairs(what);
    std::set<std::string_view> seen;
    for (const auto& [name, value] : pairs) {
      if (!seen.insert(name.text("the name of a parameter")).second)
        throw unusable_state(file.path(), '\'' + printable(name.text("a name")) + "' occurs twice");
    }
    return pairs;
  }

  TorchFile file;
  TorchTensors tensors;
  std::map<std::pair<std::string, std::string>, storage::SlicedTensor> states;
};

storage::StoredWeights open_model_file(const std::string& checkpoint, Checksums checksums) {
  const auto saved = std::make_shared<StateFile>(checkpoint + '/' + kFsdpModelFile, checksums);
  storage::FoundWeights found{checkpoint, {}, {}, saved};
  for (const auto& [name, value] : saved->entries(saved->file.root(), "what the model holds")) {
    const std::string& text = name.text("the name of a parameter");
    value.tensor("a parameter");
    found.tensors.emplace(text, saved->tensors.add(text, value, saved->file.path()));
    found.files[text] = {kFsdpModelFile};
  }
  if (found.tensors.empty()) throw not_of_fsdp(saved->file.path(), "it holds no tensor");
  return storage::StoredWeights(std::move(found));
}

OptimizerStates open_optimizer_file(const std::string& checkpoint, Checksums checksums) {
  const auto saved = std::make_shared<StateFile>(checkpoint + '/' + kFsdpOptimizerFile, checksums);
  const std::string& path = saved->file.path();
  OptimizerStates states(path, saved);
  for (const auto& [name, state] : saved->entries(saved->file.root().at("state"), "state")) {
    if (state.count("the state of a parameter") > kMostStates)
      throw unusable_state(path, "a parameter has more than " + std::to_string(kMostStates) + " states");
    const std::string& parameter = name.text("the name of a parameter");
    for (const auto& [key, value] : saved->entries(state, "the state of a parameter")) {
      if (value.kind() == TorchValue::Kind::kNone) continue;  // SGD's buffer before its first update
      const std::string& of = key.text("the name of a state");
      states.add(parameter, of,
                 saved->states[{parameter, of}] = saved->tensors.add(parameter + '.' + of, value, path),
                 {kFsdpOptimizerFile});
    }
  }
  return states;
}

}  // namespace

bool has_fsdp_model(const std::string& checkpoint) {
  return is_dcp_folder(checkpoint + '/' + kFsdpModel) || path_exists(checkpoint + '/' + kFsdpModelFile);
}

bool has_fsdp_optimizer(const std::string& checkpoint) {
  return is_dcp_folder(checkpoint + '/' + kFsdpOptimizer) ||
         path_exists(checkpoint + '/' + kFsdpOptimizerFile);
}

bool is_fsdp_adapter(const std::string& checkpoint) {
  const bool alone = is_dcp_folder(checkpoint);
  if (!alone && !has_fsdp_model(checkpoint)) return false;
  const storage::StoredWeights held = alone ? open_dcp_model(checkpoint) : open_fsdp_model(checkpoint);
  return std::ranges::any_of(held.entries(), [](const storage::TensorEntry& entry) {
    return entry.name.ends_with(".lora_A.weight");
  });
}

storage::StoredWeights open_dcp_model(const std::string& place, Checksums checksums) {
  const auto folder = std::make_shared<const DcpFolder>(place, checksums);
  const auto is_below = [](const auto& tensor) {
    return is_of_optimizer(tensor.first) || tensor.first.starts_with(kBelowModel);
  };
  const bool below = std::ranges::all_of(folder->tensors(), is_below);
  storage::FoundWeights found{place, {}, {}, folder};
  for (const auto& [saved, tensor] : folder->tensors()) {
    if (is_of_optimizer(saved)) continue;
    const std::string name = below ? saved.substr(kBelowModel.size()) : saved;
    found.tensors.emplace(name, tensor).first->second.name = name;
    const std::set<std::string>& files = folder->files().at(saved);
    found.files[name].assign(files.begin(), files.end());
  }
  if (found.tensors.empty()) throw not_of_fsdp(place, "it holds no tensor of a model");
  return storage::StoredWeights(std::move(found));
}

storage::StoredWeights open_fsdp_model(const std::string& checkpoint, Checksums checksums) {
  const bool parts = is_dcp_folder(checkpoint + '/' + kFsdpModel);
  return parts ? open_model_folder(checkpoint, checksums) : open_model_file(checkpoint, checksums);
}

OptimizerStates open_fsdp_optimizer(const std::string& checkpoint, Checksums checksums) {
  const bool parts = is_dcp_folder(checkpoint + '/' + kFsdpOptimizer);
  return parts ? open_optimizer_folder(checkpoint, checksums) : open_optimizer_file(checkpoint, checksums);
}

}  // namespace hftrain::interchange

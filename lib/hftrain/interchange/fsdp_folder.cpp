#include "hftrain/interchange/fsdp_folder.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/printable.h"

namespace hftrain::interchange {
namespace {

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

}  // namespace

bool has_fsdp_model(const std::string& checkpoint) {
  return is_dcp_folder(checkpoint + '/' + kFsdpModel);
}

bool has_fsdp_optimizer(const std::string& checkpoint) {
  return is_dcp_folder(checkpoint + '/' + kFsdpOptimizer);
}

storage::StoredWeights open_fsdp_model(const std::string& checkpoint, DcpFolder::Checksums checksums) {
  const auto folder = std::make_shared<const DcpFolder>(checkpoint + '/' + kFsdpModel, checksums);
  storage::FoundWeights found{checkpoint, {}, {}, folder};
  for (const auto& [saved, tensor] : folder->tensors()) {
    const std::string name = without("model.", saved, folder->path());
    storage::SlicedTensor& own = found.tensors.emplace(name, tensor).first->second;
    own.name = name;
    std::vector<std::string>& files = found.files[name];
    for (const std::string& file : folder->files().at(saved))
      files.push_back(std::string(kFsdpModel) + '/' + file);
  }
  if (found.tensors.empty()) throw not_of_fsdp(folder->path(), "it holds no tensor");
  return storage::StoredWeights(std::move(found));
}

OptimizerStates open_fsdp_optimizer(const std::string& checkpoint, DcpFolder::Checksums checksums) {
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

}  // namespace hftrain::interchange

#include "launcher/front/adapter_merge.h"

#include <set>
#include <utility>
#include <vector>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/architectures/architecture.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/interchange/fsdp_folder.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/plan/adapter_folder.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "launcher/front/adapter_weights.h"
#include "launcher/front/merge_by_names.h"
#include "launcher/front/merge_by_table.h"
#include "launcher/front/merged_tensors.h"

namespace hftrain::front {
namespace {

using storage::ExportedTensor;
using storage::StoredWeights;

void require_adapter(const std::string& folder, const std::function<void()>& between) {
  refuse_adapter_in_parts(folder);
  for (const char* name : {architectures::kAdapterConfigName, architectures::kAdapterWeightsName}) {
    if (path_exists(folder + '/' + name)) continue;
    throw Error(ExitCode::kData, "the folder holds no adapter")
        .where(folder)
        .why("it has no " + std::string(name))
        .hint("the output folder or a checkpoint of a run with --use_peft");
  }
  if (!path_exists(folder + '/' + storage::kManifestName)) return;
  const storage::Verification result = storage::verify_checkpoint(folder, 4, [&](uint64_t) {
    if (between) between();
  });
  if (!result.ok) {
    throw Error(ExitCode::kData, "a file of the checkpoint is damaged")
        .where(folder + '/' + result.file)
        .why("it " + result.reason)
        .hint("merge another checkpoint of the run");
  }
}

// By the model that the config describes, where it is one of a family that is known here, whatever head it has.
void take_names(AdapterWeights& adapter, const std::string& base_folder) {
  const std::string origin = config_of_merged(adapter, base_folder);
  if (!path_exists(origin)) return;
  const Json config = read_json_file(origin);
  const std::string type = model_type_of(config);
  for (size_t i = 0; i < architectures::kHeadWords.size(); ++i) {
    const auto head = static_cast<architectures::Head>(i);
    if (!architectures::Architecture::has_head(type, head)) continue;
    try {
      adapter.take_names(architectures::Architecture::from_config(config, origin, head)->parameters());
    } catch (const Error&) {
      continue;  // a form of the family that is not known: its tensors are found by their names alone
    }
  }
}

// Of the revision that was chosen, else of the one that the adapter was made beside.
std::string folder_of_base(const AdapterWeights& adapter, const std::string& folder, const BaseChoice& choice,
                           const Environment& environment) {
  const std::string origin = folder + '/' + architectures::kAdapterConfigName;
  if (choice.revision && is_folder(adapter.base()))
    throw Error(ExitCode::kUsage, "the base model has no revisions to choose from")
        .where("--model_revision " + *choice.revision)
        .why("base_model_name_or_path of " + origin + " is a folder: " + adapter.base())
        .hint("leave --model_revision out, or write the name of the base model on the Hub there");
  const std::string revision = choice.revision
                                   ? *choice.revision
                                   : plan::base_revision_of(adapter.config(), plan::kMainRevision, origin);
  return plan::resolve_model_folder(adapter.base(), "base_model_name_or_path of " + origin, revision,
                                    plan::hub_cache(choice.cache_dir, environment));
}

std::set<std::string> names_of(const std::vector<ExportedTensor>& tensors) {
  std::set<std::string> names;
  for (const ExportedTensor& tensor : tensors) names.insert(tensor.entry.name);
  return names;
}

}  // namespace

void refuse_adapter_in_parts(const std::string& folder) {
  if (path_exists(folder + '/' + architectures::kAdapterConfigName)) return;
  const bool parts = interchange::is_in_parts(folder) || interchange::is_dcp_folder(folder);
  if (!parts || !interchange::is_fsdp_adapter(folder)) return;
  throw Error(ExitCode::kData, "the folder holds an adapter in the parts of FSDP")
      .where(folder)
      .why("there is no adapter_config.json, which would say beside which model it stands, and how")
      .hint(
          "go on from it with --resume_from_checkpoint, --use_peft and the flags that it was trained with: "
          "`hftrain checkpoint merge` takes that run's folder");
}

storage::ExportResult merge_adapter(const std::string& folder, const std::string& target,
                                    int64_t max_shard_bytes, const BaseChoice& choice,
                                    const Environment& environment, const std::function<void()>& between) {
  require_adapter(folder, between);
  AdapterWeights adapter(folder);
  const std::string base_folder = folder_of_base(adapter, folder, choice, environment);
  const StoredWeights base(base_folder);
  take_names(adapter, base_folder);
  storage::ExportOptions options{.max_shard_bytes = max_shard_bytes, .over = folder, .between = between};
  if (auto tensors = merged_by_names(base, adapter)) {
    options.tensors = std::move(*tensors);
  } else {
    MergedModel model = merged_by_table(base, adapter);
    options.tensors = std::move(model.tensors);
    if (!model.config.empty()) options.texts["config.json"] = std::move(model.config);
  }
  adapter.require_modules(names_of(options.tensors));
  storage::PosixFileSystem files;
  return storage::export_model(files, base_folder, target, options);
}

bool stands_beside_folder(const std::string& folder) {
  return is_folder(AdapterWeights(folder).base());
}

std::vector<std::string> unknown_keys_of_adapter(const std::string& folder) {
  return architectures::unknown_adapter_keys(
      read_json_file(folder + '/' + architectures::kAdapterConfigName));
}

}  // namespace hftrain::front

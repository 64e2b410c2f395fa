// The local cache of the Hugging Face Hub, read only: models--ORG--NAME/refs/REVISION names a commit, whose
// files lie in snapshots/COMMIT; of data sets datasets--ORG--NAME.
#pragma once

#include <optional>
#include <string>

#include "hftrain/base/environment.h"

namespace hftrain::plan {

inline constexpr const char* kMainRevision = "main";  // what every flag of a revision has where none is said

// `cache_dir` (the flag), else HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, $HF_HOME/hub,
// $XDG_CACHE_HOME/huggingface/hub,
// ~/.cache/huggingface/hub.
std::string hub_cache_folder(const std::optional<std::string>& cache_dir, const Environment& environment);
// The variable that it goes by without a flag; empty: none is set.
std::string hub_cache_variable(const Environment& environment);

struct HubCache {
  std::string folder;
  std::string named_by;  // the flag or the variable that leads there; empty: the default
};

HubCache hub_cache(const std::optional<std::string>& cache_dir, const Environment& environment);

// "org/name" or "name", as opposed to a path.
bool is_hub_name(const std::string& name);

enum class HubKind { kModel, kDataset };

// `folder` without the trailing slash that shell completion adds.
std::string without_slash(const std::string& folder);

// What a model that is found is called on the Hub: `named`, or empty where that is a folder.
std::string name_on_hub(const std::string& named);

// The folder of a repository in the cache, whether it is there or not.
std::string repository_folder(const std::string& cache, const std::string& name, HubKind kind);

// Whether `folder` lies in a snapshot of a cache.
bool is_snapshot(const std::string& folder);

// The snapshot of `revision` (a branch, a tag or a commit), or nullopt when the cache does not hold it.
std::optional<std::string> find_snapshot(const std::string& cache, const std::string& name,
                                         const std::string& revision, HubKind kind = HubKind::kModel);

// `named` as an absolute folder: a folder of that name, else a snapshot in the cache. The error (exit code 4)
// names `flag`, the cache, what leads there and the command that would fill it.
std::string resolve_model_folder(const std::string& named, const std::string& flag,
                                 const std::string& revision, const HubCache& cache);

}  // namespace hftrain::plan

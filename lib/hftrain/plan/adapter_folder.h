// Folders that hold an adapter in the place of weights.
#pragma once

#include <optional>
#include <string>

#include "hftrain/architectures/adapter.h"
#include "hftrain/base/json.h"
#include "hftrain/plan/hub_cache.h"

namespace hftrain::plan {

struct OpenedFolder {
  std::string weights;                   // the folder whose weights and config.json are the model's
  std::string base_name, base_revision;  // what an adapter's model is called on the Hub; empty: a folder
  std::string adapter;                   // the folder that was named, where it holds an adapter; else empty
  std::optional<architectures::AdapterSpec> spec;  // of that adapter
  std::string config;  // the text of its adapter_config.json, with the revision of the base that is opened
};

// The name or path of the base model in the content of an adapter_config.json, `origin`. Error(kData) where it names none.
std::string base_model_of(const Json& config, const std::string& origin);

// The revision of the base model in the hub cache: the one that was asked for, else the one that the adapter was made beside.
std::string base_revision_of(const Json& config, const std::string& asked, const std::string& origin);

// `folder` is absolute. One that holds an adapter is opened with its base model, by path or by name in the hub cache
// `cache`. Reads adapter_config.json only. Errors carry exit code 4.
OpenedFolder open_folder(const std::string& folder, const std::string& revision, const HubCache& cache);

}  // namespace hftrain::plan

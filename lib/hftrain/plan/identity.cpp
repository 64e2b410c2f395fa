#include "hftrain/plan/identity.h"

#include <algorithm>
#include <filesystem>

#include "hftrain/base/hash.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::plan {
namespace {

// Older checkpoints have the base's folder as it was typed, a slash at its end among it.
Json with_base_named_as_now(Json saved) {
  if (saved.is_object() && saved.contains("adapter") && saved["adapter"].contains("base")) {
    Json& base = saved["adapter"]["base"];
    if (base.is_string()) base = without_slash(base.get<std::string>());
  }
  return saved;
}

// Lists of modules in any order are one.
Json in_order(Json adapter) {
  if (!adapter.is_object()) return adapter;
  for (const char* key : {"target_modules", "modules_to_save"}) {
    const auto list = adapter.find(key);
    if (list != adapter.end() && list->is_array()) std::sort(list->begin(), list->end());
  }
  return adapter;
}

}  // namespace

std::string cache_entry(const std::string& cache_path) {
  return std::filesystem::path(cache_path).parent_path().filename().string();
}

Json run_identity(const RunPlan& plan) {
  Json config = plan.model.config;
  // Says which program wrote the file, nothing about the model.
  config.erase("transformers_version");
  config.erase("_name_or_path");
  Json identity = {{"model", hash_bytes(config.dump())},
                   {"model_type", plan.model.model_type},
                   {"data", plan.data.stream  ? plan.data.stream->identity
                            : plan.data.train ? cache_entry(plan.data.train->cache_path)
                                              : ""},
                   {"block_size", plan.data.block_size},
                   {"task", tasks::row_of(plan.data.task).name},
                   {"seed", plan.seed},
                   {"data_seed", plan.data.seed}};
  if (!plan.data.training_key.empty()) identity["training_data"] = plan.data.training_key;
  // Of prepared training rows `data` covers it.
  if (plan.data.stream && plan.data.validation && plan.data.validation->exact)
    identity["validation_data"] = cache_entry(plan.data.validation->cache_path);
  // Where its weights begin. What the output folder itself holds is not compared.
  if (plan.model.source_folder.empty()) identity["weights"] = "drawn";
  if (!plan.model.weights_mark.empty()) identity["weights"] = plan.model.weights_mark;
  if (plan.model.adapter) {
    identity["adapter"] = adapter_identity(plan.model.adapter->spec);
    identity["adapter"]["base"] = plan.model.source_folder;
  }
  return identity;
}

Json adapter_identity(const architectures::AdapterSpec& spec) {
  return {{"r", spec.rank},
          {"lora_alpha", spec.alpha},
          {"use_rslora", spec.rank_stabilised},
          {"target_modules", spec.targets},
          {"modules_to_save", spec.saved_modules}};
}

bool evaluated_otherwise(const Json& saved, const Json& present) {
  const std::string training = saved.value("training_data", "");
  if (training.empty() || training != present.value("training_data", "")) return false;
  if (saved.contains("validation_data") && present.contains("validation_data"))
    return saved["validation_data"] != present["validation_data"];
  return saved.value("data", "") != present.value("data", "");
}

std::vector<std::string> identity_differences(const Json& kept, const Json& present) {
  const Json saved = with_base_named_as_now(kept);
  std::vector<std::string> lines;
  // What is evaluated does not make another run; a checkpoint of before training had a hash of its own has that of all data.
  const bool both_tell_training = saved.contains("training_data") && present.contains("training_data");
  for (const auto& [name, value] : present.items()) {
    if (name == "weights" && !saved.contains(name)) continue;  // a checkpoint of before it was kept
    if (name == "validation_data") continue;
    if (name == (both_tell_training ? "data" : "training_data")) continue;
    const Json other = saved.value(name, Json());
    if (in_order(other) != in_order(value))
      lines.push_back(name + ": " + other.dump() + " there, " + value.dump() + " here");
  }
  // A run that trains all weights does not go on from an adapter.
  if (saved.contains("adapter") && !present.contains("adapter"))
    lines.push_back("adapter: " + saved["adapter"].dump() + " there, none here");
  return lines;
}

}  // namespace hftrain::plan

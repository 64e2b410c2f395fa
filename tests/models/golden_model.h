// Models and batches of golden files: one that transformers made, with its numbers.
#pragma once

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/models/model.h"
#include "models/golden_file.h"

namespace hftrain::testing {

// Every share of the config that is dropped out, as a family calls it, is 0.
inline Json without_dropout(const Json& config, architectures::Head head) {
  Json all = architectures::Architecture::from_config(config, "golden", head)->config_json();
  for (auto& [key, value] : all.items()) {
    if (key.find("drop") != std::string::npos && value.is_number()) value = 0.0;
  }
  return all;
}

inline std::unique_ptr<models::Model> golden_model(const GoldenFile& golden,
                                                   const models::ModelOptions& options,
                                                   architectures::Head head = architectures::Head::kCausalLm,
                                                   bool drops = true) {
  Json config = parse_json(golden.metadata("config"), "golden config");
  if (!drops) config = without_dropout(config, head);
  const auto architecture = architectures::Architecture::from_config(config, "golden", head);
  auto model = models::build_model(architecture, options);
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < model->parameters().size(); ++i) {
    at::Tensor parameter = model->parameters()[i];
    parameter.copy_(golden.tensor(model->parameter_names()[i]));
  }
  return model;
}

inline models::Batch golden_batch(const GoldenFile& golden) {
  models::Batch batch;
  for (const models::BatchColumn& column : models::kBatchColumns) {
    const std::string name(column.name);
    if (golden.has(name)) batch.*column.member = golden.tensor(name);
  }
  return batch;
}

// Below tests/golden/, in order.
inline std::vector<std::string> golden_names(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/tests/golden/" + folder)) {
    names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace hftrain::testing

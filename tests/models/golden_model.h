// Models and batches of golden files: one that transformers made, with its numbers.
#pragma once

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/models/model.h"
#include "models/golden_file.h"
#include "support/catch.h"

namespace hftrain::testing {

enum class Dropout { kAsGiven, kNone, kEverywhere };

// Every share of the config that is dropped out, as a family calls it, is 0; or a tenth where it was 0. Whole layers are
// dropped only where the config says so.
inline Json with_dropout(const Json& config, architectures::Head head, Dropout dropout) {
  if (dropout == Dropout::kAsGiven) return config;
  Json all = architectures::Architecture::from_config(config, "golden", head)->config_json();
  for (auto& [key, value] : all.items()) {
    if (key.find("drop") == std::string::npos || !value.is_number()) continue;
    if (dropout == Dropout::kNone)
      value = 0.0;
    else if (value == 0.0 && key.find("layerdrop") == std::string::npos)
      value = 0.1;
  }
  return all;
}

inline std::unique_ptr<models::Model> golden_model(const GoldenFile& golden,
                                                   const models::ModelOptions& options,
                                                   architectures::Head head = architectures::Head::kCausalLm,
                                                   Dropout dropout = Dropout::kAsGiven) {
  const Json config = with_dropout(parse_json(golden.metadata("config"), "golden config"), head, dropout);
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

// A family with one of its heads.
using FamilyHead = std::pair<std::string, architectures::Head>;

// Of a file in tests/golden/heads.
inline architectures::Head golden_head(const GoldenFile& golden) {
  return architectures::head_named(golden.metadata("head")).value();
}

inline FamilyHead family_head(const GoldenFile& golden) {
  return {parse_json(golden.metadata("config"), "golden config")["model_type"].get<std::string>(),
          golden_head(golden)};
}

// All that the registry of families has.
inline std::set<FamilyHead> registered_heads() {
  std::set<FamilyHead> all;
  for (const std::string& family : architectures::Architecture::model_types()) {
    for (const std::string_view word : architectures::kHeadWords) {
      const architectures::Head head = architectures::head_named(word).value();
      if (architectures::Architecture::has_head(family, head)) all.insert({family, head});
    }
  }
  return all;
}

// Of a test of every head: it has left out none of the registry's.
inline void check_every_head(const std::set<FamilyHead>& seen) {
  for (const auto& [family, head] : registered_heads()) {
    INFO(family << ' ' << architectures::head_word(head));
    CHECK(seen.count({family, head}) == 1);
  }
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

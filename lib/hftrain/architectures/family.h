// What the families share behind Architecture: the schema, the head, the config and the table.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/architectures/config_schema.h"
#include "hftrain/architectures/tagged_numbers.h"
#include "hftrain/base/text.h"

namespace hftrain::architectures {

// A config ready to be read: complete (config_schema.h), its labels normalised and, for families with RoPE, its
// rope_parameters too (rope_config.h).
struct FamilyConfig {
  const ConfigSchema& schema;
  const HeadSpec& head;
  Labels labels;
  Json json;
  std::string origin;
  std::optional<AdapterSpec> adapter = {};
};

// A family reads its typed config, and builds the table in its constructor: the units of the body, and append_head.
class FamilyArchitecture : public Architecture {
 public:
  const std::string& model_type() const override { return model_type_; }
  Head head() const override { return given_.head.head; }
  Json config_json() const override { return with_tagged_numbers(given_.json); }
  std::string config_key(const std::string& common) const override {
    const ConfigKey* key = given_.schema.find(common);
    return key == nullptr ? common : key->name;
  }
  const ParameterTable& parameters() const override { return table_; }
  const std::optional<AdapterSpec>& adapter() const override { return given_.adapter; }
  std::vector<std::string> adapter_targets() const override {
    const std::string targets = given_.schema.adapter_targets;
    return targets.empty() ? std::vector<std::string>() : split(targets, ',');
  }
  std::vector<std::string> layer_class_names() const override { return {given_.schema.layer_class}; }
  const Labels& labels() const override { return given_.labels; }
  bool counts_first_label() const override {
    return head() == Head::kCausalLm && !counts_predicted_labels(given_.head);
  }
  bool spaces_words() const override { return given_.schema.spaces_words; }
  std::string tokenizer_pattern() const override { return given_.schema.tokenizer_pattern; }
  bool ties_by_files() const override { return given_.schema.ties_by_files; }
  std::optional<int64_t> pad_token_id() const override { return token_id("pad_token_id"); }
  std::optional<int64_t> eos_token_id() const override { return token_id("eos_token_id"); }
  std::optional<int64_t> decoder_start_token_id() const override {
    return token_id("decoder_start_token_id");
  }

 protected:
  explicit FamilyArchitecture(FamilyConfig given)
      : given_(std::move(given)), model_type_(given_.schema.model_type) {}

  const FamilyConfig& given() const noexcept { return given_; }
  std::string base_prefix() const { return body_prefix(given_.head); }
  // Of the derived constructor.
  void set_table(ParameterTable table) {
    for (const HeadSpec& other : given_.schema.heads) {
      const std::string prefix = body_prefix(other);
      std::vector<std::string>& known = table.other_prefixes;
      if (prefix != table.base_prefix && std::find(known.begin(), known.end(), prefix) == known.end())
        known.push_back(prefix);
    }
    if (given_.adapter) append_adapters(table, *given_.adapter, model_type_);
    table_ = std::move(table);
  }

 private:
  std::optional<int64_t> token_id(const char* key) const {
    const auto id = given_.json.find(key);
    if (id == given_.json.end() || !id->is_number_integer()) return std::nullopt;
    return id->get<int64_t>();
  }

  FamilyConfig given_;
  std::string model_type_;
  ParameterTable table_;
};

using FamilyMaker = std::shared_ptr<const Architecture> (*)(FamilyConfig given);

}  // namespace hftrain::architectures

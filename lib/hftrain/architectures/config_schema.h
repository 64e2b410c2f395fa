// The keys a family's config.json has in transformers 5.17, with types and class defaults, as a table that is
// walked to fill in missing keys, check types, and convert `--config_overrides`. Keys outside the table are
// kept untouched.
#pragma once

#include <span>
#include <string>

#include "hftrain/architectures/heads.h"
#include "hftrain/base/json.h"

namespace hftrain::architectures {

enum class ConfigType { kBoolean, kInteger, kFloat, kString, kTokenIds, kSizes, kStructure };

struct ConfigKey {
  const char* name;
  ConfigType type;
  const char* default_text;  // JSON
  bool nullable = false;
};

// Another spelling of a key: {"hidden_size", "n_embd"}.
struct ConfigAlias {
  const char* alias;
  const char* name;
  // A key that transformers makes of `name` before the alias counts, where a config has none of it.
  const char* made_before = "";
};

struct ConfigSchema {
  const char* model_type;
  std::span<const HeadSpec> heads;  // those the family has
  const char* layer_class;          // class of its blocks
  std::span<const ConfigKey> keys;
  std::span<const ConfigAlias> aliases;
  // Keys of older releases that are folded into others; accepted in overrides, never written.
  std::span<const ConfigKey> old_keys;
  bool has_rope = false;
  bool spaces_words = false;           // Architecture::spaces_words
  const char* tokenizer_pattern = "";  // Architecture::tokenizer_pattern
  bool ties_by_files = false;          // Architecture::ties_by_files
  bool fixed_answers =
      false;  // its class for answers gives two scores; elsewhere as many as a config has labels
  int64_t default_labels = kUnnamedLabels;
  const char* adapter_targets =
      "";  // modules that peft adapts unless told which, with commas; empty: none are known

  const ConfigKey* find(const std::string& name_or_alias) const;
  const HeadSpec* find(Head head) const;  // null: the family has no such head
};

// `config` with canonical spellings, and the class default for every key that is missing. Values of a wrong
// type are reported all at once (exit code 4), with `origin` and the key.
Json complete_config(const ConfigSchema& schema, const Json& config, const std::string& origin);

// The keys of "n_layer=4,n_head=4" as an object, each value converted to the type of its key. Errors carry
// exit code 2.
Json parse_overrides(const ConfigSchema& schema, const std::string& overrides);

}  // namespace hftrain::architectures

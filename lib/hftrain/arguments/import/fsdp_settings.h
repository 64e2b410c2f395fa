// The keys of FSDP, under all their names: fsdp_config of the Trainer (both dialects, with and without the
// prefix), the Accelerate file and the flags of `accelerate launch`, and the FSDP_* variables. A table maps
// every spelling to one setting.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/arguments/parallel_options.h"
#include "hftrain/arguments/raw_argument.h"
#include "hftrain/base/json.h"

namespace hftrain::arguments {

// What one or several sources ask for, before the rules between the settings.
struct FsdpSettings {
  Sourced<int64_t> version;          // dialect: 1 or 2
  Sourced<std::string> strategy;     // in the words of ParallelOptions
  Sourced<bool> reshard;             // after forward
  Sourced<bool> offload;             // parameters, gradients and optimizer state
  Sourced<std::string> wrap_policy;  // transformer | size | none
  Sourced<std::vector<std::string>> layer_classes;
  Sourced<int64_t> min_parameters;
  Sourced<std::string> backward_prefetch;  // pre | post | none
  Sourced<bool> forward_prefetch, limit_all_gathers;
  Sourced<std::string> reduce_dtype;
  Sourced<std::string> state_dict;  // full | sharded | local
  Sourced<bool> load_own_slices, sync_module_states, use_orig_params;
  Sourced<bool> activation_checkpointing, activation_checkpointing_offload;
  Sourced<std::string> ignored_modules;
  Sourced<bool> xla_checkpointing, xla_settings;  // only meant for a TPU
};

// Reads the keys of one place after another into one FsdpSettings.
class FsdpReader {
 public:
  // Two places that give one setting: a difference is a mistake, or the first one stays. One that is compared sets nothing.
  enum class Later { kMustAgree, kFillsIn, kCompared };

  FsdpReader(FsdpSettings& settings, Diagnostics& problems) : settings_(settings), problems_(problems) {}

  // One key without its prefix, as it was `written`; `name` is its spelling for messages and `origin` its
  // place. False when there is no such key.
  bool read(std::string_view key, const Json& written, const std::string& name, const std::string& origin,
            Later later = Later::kMustAgree);

  // Whether the key that was read last says something else than the place before it, which stays.
  bool differs() const { return differs_; }

  // Every key, under its first name, for suggestions.
  static std::vector<std::string> keys();
  // `key` under its first name; empty when there is no such key.
  static std::string_view canonical(std::string_view key);

 private:
  friend struct FsdpKeys;

  template <typename T>
  void set(Sourced<T>& field, T value);
  void flag(Sourced<bool>& field);
  void number(Sourced<int64_t>& field, const Range& range);
  template <size_t N>
  void word(Sourced<std::string>& field, const char* const (&table)[N][2]);
  void reshard();
  void classes();
  void any_text(Sourced<std::string>& field);
  void refuse_unless_false(const std::string& why, const std::string& hint);
  // The value as `type`; nothing when it is none.
  std::optional<Json> converted(Type type, const Range& range = {}) const;
  std::string text() const;
  void mistake(const std::string& expected);

  FsdpSettings& settings_;
  Diagnostics& problems_;
  // Of the key that is being read
  const Json* written_ = nullptr;
  std::string name_, origin_;
  Later later_ = Later::kMustAgree;
  bool differs_ = false;
};

}  // namespace hftrain::arguments

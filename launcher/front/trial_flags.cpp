#include "launcher/front/trial_flags.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/print_config.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"

namespace hftrain::front {
namespace {

constexpr std::array kGroupsOfLearning = {"run",       "model",        "data",       "batch",
                                          "optimizer", "schedule",     "precision",  "evaluation",
                                          "parallel",  "instructions", "generation", "adapters"};
// Of other groups. The number of ranks is that of the batches that an update sees; a release has habits beside its defaults.
constexpr std::array kFurtherOfLearning = {"nnodes",
                                           "nproc_per_node",
                                           "cpu_ranks",
                                           "worker_program",
                                           "plugin",
                                           "hf_compat",
                                           "load_best_model_at_end",
                                           "metric_for_best_model",
                                           "greater_is_better",
                                           "early_stopping_patience",
                                           "early_stopping_threshold"};
// Of those groups: these change speed and memory alone. Recomputation repeats the forward pass exactly, so it is one of them.
constexpr std::array kFree = {"cache_dir",
                              "low_cpu_mem_usage",
                              "attn_implementation",
                              "dataloader_num_workers",
                              "dataloader_pin_memory",
                              "dataloader_persistent_workers",
                              "dataloader_prefetch_factor",
                              "dataloader_multiprocessing_context",
                              "dataloader_in_order",
                              "preprocessing_num_workers",
                              "dataset_num_proc",
                              "overwrite_cache",
                              "eval_accumulation_steps",
                              "gradient_checkpointing",
                              "gradient_checkpointing_kwargs",
                              "activation_offloading",
                              "xpu_backend",
                              "ddp_backend",
                              "ddp_bucket_cap_mb",
                              "ddp_timeout",
                              "ddp_find_unused_parameters",
                              "ddp_broadcast_buffers",
                              "ddp_static_graph",
                              "zero3_init_flag",
                              "fsdp_activation_checkpointing",
                              "fsdp_forward_prefetch",
                              "fsdp_backward_prefetch",
                              "fsdp_cpu_ram_efficient_loading",
                              "fsdp_sync_module_states",
                              "fsdp_use_orig_params"};
// Of fsdp_config, where they may begin with fsdp_.
constexpr std::array kFreeKeys = {
    "forward_prefetch", "backward_prefetch",  "limit_all_gathers",        "cpu_ram_efficient_loading",
    "use_orig_params",  "sync_module_states", "backward_prefetch_policy", "activation_checkpointing"};
// Where the number of ranks comes from.
constexpr std::array kGroupsOfRanks = {"device", "launch", "launchers"};
// Folders, or names on the Hub.
constexpr std::array kFolderOrName = {
    "model_name_or_path",     "config_name",  "tokenizer_name",   "image_processor_name",
    "feature_extractor_name", "dataset_name", "generation_config"};

template <typename Names>
bool has_name(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool decides_learning(const arguments::FlagGroup& group, const arguments::Flag& flag) {
  return has_name(kGroupsOfLearning, group.name) ? !has_name(kFree, flag.name)
                                                 : has_name(kFurtherOfLearning, flag.name);
}

std::string whole_path(const std::string& path) {
  const std::string whole = std::filesystem::absolute(path).lexically_normal().string();
  return whole.size() > 1 && whole.ends_with('/') ? whole.substr(0, whole.size() - 1) : whole;
}

// The same file has one name, whichever folder it is named from. What may be a name on the Hub, or the text of a mapping, is a path
// where there is such a file.
Json with_whole_paths(const arguments::Flag& flag, Json value) {
  const bool word = has_name(kFolderOrName, flag.name) || flag.slot.type == arguments::Type::kMapping;
  if (!flag.path && !word) return value;
  if (value.is_array()) {
    for (Json& each : value) each = with_whole_paths(flag, std::move(each));
  }
  if (!value.is_string() || value == "") return value;
  const std::string& path = value.get_ref<const std::string&>();
  std::error_code unreadable;  // a text too long for a path, say
  return word && !std::filesystem::exists(path, unreadable) ? value : Json(whole_path(path));
}

std::set<std::string> drawn_flags(const search::Space& space) {
  std::set<std::string> names;
  for (const search::Parameter& parameter : space) {
    const arguments::FlagMatch match = arguments::flag_table().find(parameter.flag);
    names.insert(match ? std::string(match.flag->name) : parameter.flag);
  }
  return names;
}

// Of a mapping, or its text.
Json without_free_keys(Json mapping) {
  const std::optional<Json> written =
      mapping.is_string() ? try_parse_json(mapping.get_ref<const std::string&>()) : std::nullopt;
  if (written) mapping = *written;
  if (!mapping.is_object()) return mapping;  // a file
  for (const char* key : kFreeKeys) {
    mapping.erase(key);
    mapping.erase(std::string("fsdp_") + key);
  }
  return mapping;
}

// Behind the path of a file its content as far as trials learn by it: who edits the file changes them under the same name. What was
// recorded with it is no path.
Json with_content(const arguments::Flag& flag, Json value) {
  if (flag.slot.type != arguments::Type::kMapping || !value.is_string()) return value;
  const std::string& path = value.get_ref<const std::string&>();
  std::error_code unreadable;  // a text too long for a path, say
  if (!std::filesystem::is_regular_file(path, unreadable)) return value;
  const std::string text = read_file(path, ExitCode::kUsage);
  std::optional<Json> content = try_parse_json(text);
  if (content && flag.name == "fsdp_config") content = without_free_keys(std::move(*content));
  return path + " (content " + hash_bytes(content ? dump_json(*content, -1) : text) + ')';
}

}  // namespace

Json common_flags(const arguments::ParseOutcome& parsed, const search::Space& space) {
  const Json all = arguments::arguments_json(parsed);
  const std::set<std::string> drawn = drawn_flags(space);
  Json common = Json::object();
  for (const arguments::FlagGroup& group : arguments::flag_table().groups()) {
    for (const arguments::Flag& flag : group.flags) {
      const std::string name(flag.name);
      if (!decides_learning(group, flag) || drawn.contains(name) || !all.contains(name) ||
          all[name] == flag.default_value())
        continue;
      common[name] = all[name];
    }
  }
  return compared_flags(std::move(common));
}

bool draws_ranks(const search::Space& space) {
  const std::set<std::string> drawn = drawn_flags(space);
  return std::ranges::any_of(arguments::flag_table().groups(), [&](const arguments::FlagGroup& group) {
    return has_name(kGroupsOfRanks, group.name) && std::ranges::any_of(group.flags, [&](const auto& flag) {
             return drawn.contains(std::string(flag.name));
           });
  });
}

Json compared_flags(Json flags) {
  for (const arguments::FlagGroup& group : arguments::flag_table().groups()) {
    for (const arguments::Flag& flag : group.flags) {
      const std::string name(flag.name);
      if (!flags.contains(name)) continue;
      Json value = with_whole_paths(flag, std::move(flags[name]));
      if (name == "fsdp_config") value = without_free_keys(std::move(value));
      value = with_content(flag, std::move(value));
      flags.erase(name);
      const bool empty = value.is_object() && value.empty();  // as if it had not been given
      if (decides_learning(group, flag) && !empty) flags[name] = std::move(value);
    }
  }
  return flags;
}

}  // namespace hftrain::front

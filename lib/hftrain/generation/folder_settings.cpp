#include "hftrain/generation/folder_settings.h"

#include <algorithm>
#include <array>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/generation/settings.h"

namespace hftrain::generation {
namespace {

// Of a generation config, and nothing that a text shows.
constexpr std::array<std::string_view, 8> kBesideTexts = {
    "use_cache",     "cache_implementation", "output_attentions",       "output_hidden_states",
    "output_scores", "output_logits",        "return_dict_in_generate", "transformers_version"};

// Of how it is computed, of an assistant's or of what an assistant would need beside it: no text is another one for them.
constexpr std::array<std::string_view, 15> kOfComputing = {"assistant_confidence_threshold",
                                                           "assistant_ensemble_weight",
                                                           "assistant_lookbehind",
                                                           "cache_config",
                                                           "compile_config",
                                                           "continuous_batching_config",
                                                           "disable_compile",
                                                           "is_assistant",
                                                           "max_cache_len",
                                                           "num_assistant_tokens",
                                                           "num_assistant_tokens_schedule",
                                                           "prefill_chunk_size",
                                                           "speculation_type",
                                                           "target_lookbehind",
                                                           "use_mtp"};

bool is_known(std::string_view key) {
  const auto holds = [&](const auto& names) { return std::ranges::find(names, key) != names.end(); };
  return key.starts_with('_') || holds(kBesideTexts) || holds(kOfComputing) || holds(settings_not_here()) ||
         std::ranges::any_of(settings(), [&](const Setting& setting) { return setting.name == key; });
}

bool is_token(const Json& id, int64_t vocabulary) {
  return !id.is_number_integer() ||
         (id >= 0 && id < vocabulary);  // what is no number is somebody else's to refuse
}

}  // namespace

FolderSettings settings_from_text(std::string_view text, const std::string& origin) {
  constexpr const char* kHint = "mend or remove the file; without it config.json counts";
  Json file;
  try {
    file = parse_json(text, origin);
  } catch (Error& error) {
    throw error.hint(kHint);
  }
  if (!file.is_object())
    throw Error(ExitCode::kData, "the settings of generation are not an object")
        .where(origin)
        .why("it is " + std::string(file.type_name()))
        .hint(kHint);
  FolderSettings found{Json::object(), origin};
  for (const auto& [key, value] : file.items()) found.values[key] = value;
  return found;
}

FolderSettings read_folder_settings(const std::string& folder) {
  const std::string own = folder + "/generation_config.json", config = folder + "/config.json";
  if (path_exists(own)) return settings_from_text(read_file(own), own);
  if (!path_exists(config)) return {};
  FolderSettings found = settings_from_text(read_file(config), config);
  found.values = settings_of_model_config(found.values);
  return found;
}

Json settings_of_model_config(const Json& config) {
  Json made = {{"_from_model_config", true}};
  const auto take = [&](std::string_view key) {
    const auto found = config.find(key);
    if (found != config.end() && !found->is_null()) made[std::string(key)] = *found;
  };
  for (const Setting& setting : settings()) take(setting.name);
  for (const std::string_view key : settings_not_here()) take(key);
  for (const std::string_view key : kBesideTexts) take(key);
  // Of BARTs that are older than forced_bos_token_id.
  if (config.value("force_bos_token_to_be_generated", Json()) == true)
    made["forced_bos_token_id"] = config.value("bos_token_id", Json());
  return made;
}

std::vector<std::string> unknown_settings(const Json& settings) {
  std::vector<std::string> names;
  for (const auto& [key, value] : settings.items()) {
    if (!value.is_null() && !is_known(key)) names.push_back(key);
  }
  return names;
}

Json take_unknown_tokens(Json& settings, int64_t vocabulary) {
  Json taken = Json::object();
  for (const char* name : {"bos_token_id", "pad_token_id", "decoder_start_token_id", "eos_token_id"}) {
    const auto found = settings.find(name);
    if (found == settings.end()) continue;
    Json kept = Json::array();
    if (!found->is_array()) {
      if (is_token(*found, vocabulary)) continue;
      kept = nullptr;
    } else {
      for (const Json& id : *found) {
        if (is_token(id, vocabulary)) kept.push_back(id);
      }
      if (kept.size() == found->size()) continue;
      if (kept.empty()) kept = nullptr;
    }
    taken[name] = *found;
    *found = std::move(kept);
  }
  return taken;
}

}  // namespace hftrain::generation

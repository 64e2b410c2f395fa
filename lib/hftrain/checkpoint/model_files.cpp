#include "hftrain/checkpoint/model_files.h"

#include "hftrain/base/file.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::checkpoint {
namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kGenerationConfig = "generation_config.json";

}  // namespace

Json generation_config(const Json& config) {
  Json generation = {
      {"_from_model_config", true}, {"output_attentions", false}, {"output_hidden_states", false}};
  generation["use_cache"] = true;
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id", "transformers_version"}) {
    if (config.contains(key) && !config[key].is_null()) generation[key] = config[key];
  }
  return generation;
}

void save_model_files(const Json& config, const std::string& tokenizer_folder, SaveTarget& target) {
  target.put(kConfig, dump_json(config) + '\n');
  target.put(kGenerationConfig, dump_json(generation_config(config)) + '\n');
  if (tokenizer_folder.empty()) return;
  for (const std::string& name : storage::model_companion_files(tokenizer_folder)) {
    if (name != kConfig && name != kGenerationConfig)
      target.put(name, read_file(tokenizer_folder + '/' + name));
  }
}

}  // namespace hftrain::checkpoint

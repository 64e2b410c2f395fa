#include "hftrain/checkpoint/model_files.h"

#include <array>

#include "hftrain/base/file.h"

namespace hftrain::checkpoint {
namespace {

constexpr std::array<const char*, 11> kTokenizerFiles = {
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "spiece.model",
    "chat_template.jinja",
};

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

std::vector<std::string> tokenizer_files(const std::string& tokenizer_folder) {
  std::vector<std::string> names;
  if (tokenizer_folder.empty()) return names;
  for (const char* name : kTokenizerFiles) {
    if (path_exists(tokenizer_folder + '/' + name)) names.emplace_back(name);
  }
  return names;
}

void save_model_files(const Json& config, const std::string& tokenizer_folder, storage::StagedFiles& target) {
  target.put("config.json", dump_json(config) + '\n');
  target.put("generation_config.json", dump_json(generation_config(config)) + '\n');
  for (const std::string& name : tokenizer_files(tokenizer_folder)) {
    target.copy_from(tokenizer_folder + '/' + name, name);
  }
}

}  // namespace hftrain::checkpoint

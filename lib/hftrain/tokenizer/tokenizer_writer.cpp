#include <algorithm>

#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/bpe_trainer.h"

namespace hftrain::tokenizer {
namespace {

std::string quoted(const std::string& text) {
  return Json(text).dump();
}

Json byte_level_part(bool add_prefix_space, bool trim_offsets) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", trim_offsets},
          {"use_regex", true}};
}

std::string added_tokens(const std::vector<std::string>& special_tokens) {
  Json list = Json::array();
  for (const std::string& token : special_tokens) {
    list.push_back({{"id", list.size()},
                    {"content", token},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", true}});
  }
  return dump_json(list, -1);
}

// The file keeps the order of the package's own: parts in the order of their use, the vocabulary by id.
std::string tokenizer_json(const TrainedBpe& trained, const std::vector<std::string>& special_tokens) {
  std::string text =
      "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": ";
  text += added_tokens(special_tokens) + ",\n  \"normalizer\": null,\n";
  text += "  \"pre_tokenizer\": " + dump_json(byte_level_part(false, true), -1) + ",\n";
  text += "  \"post_processor\": " + dump_json(byte_level_part(true, false), -1) + ",\n";
  text += "  \"decoder\": " + dump_json(byte_level_part(true, true), -1) + ",\n";
  text +=
      "  \"model\": {\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": null,\n"
      "    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n    \"fuse_unk\": "
      "false,\n"
      "    \"byte_fallback\": false,\n    \"ignore_merges\": false,\n    \"vocab\": {";
  for (size_t id = 0; id < trained.tokens.size(); ++id) {
    text += (id == 0 ? "\n      " : ",\n      ") + quoted(trained.tokens[id]) + ": " + std::to_string(id);
  }
  text += "\n    },\n    \"merges\": [";
  for (size_t i = 0; i < trained.merges.size(); ++i) {
    const auto& [left, right] = trained.merges[i];
    text += (i == 0 ? "\n      [" : ",\n      [") + quoted(trained.tokens[static_cast<size_t>(left)]) + ", " +
            quoted(trained.tokens[static_cast<size_t>(right)]) + "]";
  }
  return text + "\n    ]\n  }\n}\n";
}

// The first of `names` that is a special token, else the first special token there is.
Json role(const std::vector<std::string>& special_tokens, std::initializer_list<const char*> names,
          bool needed) {
  for (const char* name : names) {
    if (std::find(special_tokens.begin(), special_tokens.end(), name) != special_tokens.end()) return name;
  }
  return needed && !special_tokens.empty() ? Json(special_tokens.front()) : Json();
}

std::string tokenizer_config(const std::vector<std::string>& special_tokens) {
  Json config = {{"add_prefix_space", false},
                 {"clean_up_tokenization_spaces", false},
                 {"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"bos_token", role(special_tokens, {"<|begin_of_text|>", "<s>", "<|endoftext|>"}, true)},
                 {"eos_token", role(special_tokens, {"<|end_of_text|>", "</s>", "<|endoftext|>"}, true)},
                 {"pad_token", role(special_tokens, {"<pad>", "<|pad|>", "[PAD]"}, false)},
                 {"unk_token", role(special_tokens, {"<unk>", "<|endoftext|>"}, false)}};
  for (auto item = config.begin(); item != config.end();) {
    if (item->is_null()) {
      item = config.erase(item);
    } else {
      ++item;
    }
  }
  return dump_json(config) + '\n';
}

}  // namespace

void write_byte_level_tokenizer(const TrainedBpe& trained, const BpeTrainingOptions& options,
                                const std::string& folder) {
  write_file_atomically(folder + "/tokenizer.json", tokenizer_json(trained, options.special_tokens));
  write_file_atomically(folder + "/tokenizer_config.json", tokenizer_config(options.special_tokens));
}

}  // namespace hftrain::tokenizer

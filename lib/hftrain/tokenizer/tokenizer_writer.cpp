#include "hftrain/tokenizer/tokenizer_writer.h"

#include <algorithm>

#include "hftrain/base/file.h"

namespace hftrain::tokenizer {
namespace {

std::string quoted(const std::string& text) {
  return Json(text).dump();
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

// Tokens and ids, a line each.
std::string vocabulary_by_id(const std::vector<std::string>& tokens) {
  std::string text = "{";
  for (size_t id = 0; id < tokens.size(); ++id) {
    text += (id == 0 ? "\n      " : ",\n      ") + quoted(tokens[id]) + ": " + std::to_string(id);
  }
  return text + "\n    }";
}

// The file keeps the order of the package's own: parts in the order of their use.
std::string tokenizer_json(const PipelineDraft& pipeline, const std::string& model,
                           const std::vector<std::string>& special_tokens) {
  std::string text =
      "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": ";
  text += added_tokens(special_tokens);
  text += ",\n  \"normalizer\": " + dump_json(pipeline.normalizer, -1);
  text += ",\n  \"pre_tokenizer\": " + dump_json(pipeline.pre_tokenizer, -1);
  text += ",\n  \"post_processor\": " + dump_json(pipeline.post_processor, -1);
  text += ",\n  \"decoder\": " + dump_json(pipeline.decoder, -1);
  return text + ",\n  \"model\": " + model + "\n}\n";
}

// The first of `names` that is a special token, else the first special token there is.
Json role(const std::vector<std::string>& special_tokens, std::initializer_list<const char*> names,
          bool needed) {
  for (const char* name : names) {
    if (std::find(special_tokens.begin(), special_tokens.end(), name) != special_tokens.end()) return name;
  }
  return needed && !special_tokens.empty() ? Json(special_tokens.front()) : Json();
}

std::string tokenizer_config(const std::vector<std::string>& special_tokens, bool is_causal) {
  const auto find = [&](std::initializer_list<const char*> names, bool needed = false) {
    return role(special_tokens, names, needed);
  };
  Json config = {{"add_prefix_space", is_causal ? Json(false) : Json()},
                 {"clean_up_tokenization_spaces", false},
                 {"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"pad_token", find({"<pad>", "<|pad|>", "[PAD]"})},
                 {"cls_token", find({"[CLS]"})},
                 {"sep_token", find({"[SEP]"})},
                 {"mask_token", find({"[MASK]", "<mask>"})}};
  if (is_causal) {
    config["bos_token"] = find({"<|begin_of_text|>", "<s>", "<|endoftext|>"}, true);
    config["eos_token"] = find({"<|end_of_text|>", "</s>", "<|endoftext|>"}, true);
    config["unk_token"] = find({"<unk>", "<|endoftext|>"});
  } else {
    config["bos_token"] = find({"<s>"});
    config["eos_token"] = find({"</s>"});
    const std::string unknown = unknown_among(special_tokens);
    config["unk_token"] = unknown.empty() ? Json() : Json(unknown);
  }
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

std::string byte_level_model(const LearnedMerges& learned) {
  std::string text =
      "{\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": null,\n"
      "    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n    \"fuse_unk\": "
      "false,\n    \"byte_fallback\": false,\n    \"ignore_merges\": false,\n    \"vocab\": ";
  text += vocabulary_by_id(learned.tokens) + ",\n    \"merges\": [";
  for (size_t i = 0; i < learned.merges.size(); ++i) {
    const auto& [left, right] = learned.merges[i];
    text += (i == 0 ? "\n      [" : ",\n      [") + quoted(learned.tokens[static_cast<size_t>(left)]) + ", " +
            quoted(learned.tokens[static_cast<size_t>(right)]) + "]";
  }
  return text + "\n    ]\n  }";
}

std::string word_piece_model(const std::vector<std::string>& tokens, const std::string& unknown_token) {
  return "{\n    \"type\": \"WordPiece\",\n    \"unk_token\": " + quoted(unknown_token) +
         ",\n    \"continuing_subword_prefix\": \"##\",\n    \"max_input_chars_per_word\": 100,\n    "
         "\"vocab\": " +
         vocabulary_by_id(tokens) + "\n  }";
}

std::string word_level_model(const std::vector<std::string>& tokens, const std::string& unknown_token) {
  return "{\n    \"type\": \"WordLevel\",\n    \"vocab\": " + vocabulary_by_id(tokens) +
         ",\n    \"unk_token\": " + quoted(unknown_token) + "\n  }";
}

std::string unigram_model(const std::vector<ScoredPiece>& pieces, size_t unknown_id) {
  std::string text =
      "{\n    \"type\": \"Unigram\",\n    \"unk_id\": " + std::to_string(unknown_id) + ",\n    \"vocab\": [";
  for (size_t id = 0; id < pieces.size(); ++id) {
    text += (id == 0 ? "\n      [" : ",\n      [") + quoted(pieces[id].first) + ", " +
            Json(pieces[id].second).dump() + "]";
  }
  return text + "\n    ],\n    \"byte_fallback\": false\n  }";
}

void write_tokenizer(const PipelineDraft& pipeline, const std::string& model,
                     const std::vector<std::string>& special_tokens, bool is_causal,
                     const std::string& folder) {
  write_file_atomically(folder + "/tokenizer.json", tokenizer_json(pipeline, model, special_tokens));
  write_file_atomically(folder + "/tokenizer_config.json", tokenizer_config(special_tokens, is_causal));
}

}  // namespace hftrain::tokenizer

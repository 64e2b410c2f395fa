#include "hftrain/tokenizer/unheeded_settings.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <optional>

#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "hftrain/tokenizer/tokenizer_file.h"

namespace hftrain::tokenizer {
namespace {

constexpr size_t kNamed = 5;  // tokens that a sentence names
// Classes that are looked at below: they build a pipeline of their settings, whatever the file has.
constexpr std::array kBuilding = {"BertTokenizer", "DistilBertTokenizer", "GPT2Tokenizer", "Qwen2Tokenizer",
                                  "LlamaTokenizer"};

// Parts of tokenizer.json without its vocabulary.
struct PipelineTexts {
  Json normalizer, pre_tokenizer;
};

struct Settings {
  Json config;
  std::string tokenizer_class;  // without "Fast"
  PipelineTexts pipeline;

  // A truth of the config; unset where it says none.
  std::optional<bool> truth(const char* key) const {
    const auto found = config.find(key);
    return found != config.end() && found->is_boolean() ? std::optional(found->get<bool>()) : std::nullopt;
  }
};

// Its vocabulary, which may be long, is not made anything of.
PipelineTexts pipeline_texts(const std::string& folder) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  PipelineTexts texts;
  if (parser.load(folder + "/tokenizer.json").get(root) != simdjson::SUCCESS) return texts;
  const auto take = [&](const char* key, Json& part) {
    simdjson::dom::element found;
    if (root[key].get(found) == simdjson::SUCCESS) part = Json::parse(simdjson::minify(found));
  };
  take("normalizer", texts.normalizer);
  take("pre_tokenizer", texts.pre_tokenizer);
  return texts;
}

Json read_object(const std::string& path) {
  if (!path_exists(path)) return Json::object();
  const Json read = read_json_file(path);
  return read.is_object() ? read : Json::object();
}

// The part of a pipeline with that type, which may stand in a sequence; null: there is none.
Json part_of_type(const Json& part, const std::string& type) {
  if (!part.is_object()) return nullptr;
  if (part.value("type", "") == type) return part;
  for (const char* list : {"normalizers", "pretokenizers"}) {
    for (const Json& each : part.value(list, Json::array())) {
      if (const Json found = part_of_type(each, type); !found.is_null()) return found;
    }
  }
  return nullptr;
}

const char* word(const Json& value) {
  return value.is_null() ? "null" : value == true ? "true" : "false";
}

void add_token(const Json& value, std::vector<std::string>& tokens) {
  if (value.is_string()) tokens.push_back(value.get<std::string>());
  if (value.is_object() && value.contains("content")) add_token(value.at("content"), tokens);
}

// Every token that a file names.
std::vector<std::string> tokens_named(const Json& file) {
  std::vector<std::string> tokens;
  for (const auto& [key, value] : file.items()) {
    if (key.ends_with("_token")) add_token(value, tokens);
    if (key != "additional_special_tokens" && key != "extra_special_tokens" && key != "added_tokens_decoder")
      continue;
    if (!value.is_array() && !value.is_object()) continue;
    for (const Json& each : value) add_token(each, tokens);
  }
  return tokens;
}

void say_missing_tokens(const Tokenizer& tokenizer, std::vector<std::string>& said) {
  std::vector<std::string> missing;
  for (const char* name : {"/tokenizer_config.json", "/special_tokens_map.json"}) {
    for (const std::string& token : tokens_named(read_object(tokenizer.folder() + name))) {
      if (!token.empty() && !tokenizer.token_to_id(token) && std::ranges::count(missing, token) == 0)
        missing.push_back(token);
    }
  }
  if (missing.empty()) return;
  const bool more = missing.size() > kNamed;
  missing.resize(std::min(missing.size(), kNamed));
  said.push_back("tokens that it names are added to the vocabulary there, and are other text here: " +
                 join(missing, ", ") + (more ? ", …" : ""));
}

// BertTokenizer and DistilBertTokenizer make their normalizer of these keys, whatever the file has.
void say_case(const Settings& settings, std::vector<std::string>& said) {
  const Json part = part_of_type(settings.pipeline.normalizer, "BertNormalizer");
  const bool bert =
      settings.tokenizer_class == "BertTokenizer" || settings.tokenizer_class == "DistilBertTokenizer";
  if (!bert || part.is_null()) return;
  const bool lower = settings.truth("do_lower_case").value_or(true);
  if (part.value("lowercase", Json()) != lower)
    said.push_back(std::string("do_lower_case is ") + word(lower) + ", and the normalizer's lowercase " +
                   word(part.value("lowercase", Json())));
  const std::optional<bool> strip = settings.truth("strip_accents");
  const Json stripped = strip ? Json(*strip) : Json();
  if (part.value("strip_accents", Json()) != stripped)
    said.push_back(std::string("strip_accents is ") + word(stripped) + ", and the normalizer's " +
                   word(part.value("strip_accents", Json())));
  const bool apart = settings.truth("tokenize_chinese_chars").value_or(true);
  if (part.value("handle_chinese_chars", Json(true)) != apart)
    said.push_back(std::string("tokenize_chinese_chars is ") + word(apart) +
                   ", and the normalizer's handle_chinese_chars " +
                   word(part.value("handle_chinese_chars", Json(true))));
}

void say_byte_level_space(const Settings& settings, std::vector<std::string>& said) {
  constexpr std::array kClasses = {"GPT2Tokenizer", "Qwen2Tokenizer"};
  const Json part = part_of_type(settings.pipeline.pre_tokenizer, "ByteLevel");
  const bool space = settings.truth("add_prefix_space").value_or(false);
  if (std::ranges::count(kClasses, settings.tokenizer_class) == 0 || part.is_null()) return;
  if (part.value("add_prefix_space", Json(true)) != space)
    said.push_back(std::string("add_prefix_space is ") + word(space) + ", and the pre-tokenizer's " +
                   word(part.value("add_prefix_space", Json(true))));
}

// LlamaTokenizer of transformers 5 makes its spaces of these keys, whatever the file has.
void say_metaspace(const Settings& settings, std::vector<std::string>& said) {
  if (settings.tokenizer_class != "LlamaTokenizer") return;
  const Json part = part_of_type(settings.pipeline.pre_tokenizer, "Metaspace");
  if (part.is_null()) {
    if (!part_of_type(settings.pipeline.normalizer, "Prepend").is_null())
      said.push_back(
          "LlamaTokenizer of transformers 5 has a Metaspace in the place of the file's Prepend, and makes "
          "other "
          "tokens after special ones and of spaces that begin a text");
    return;
  }
  const bool legacy = settings.truth("legacy").value_or(false);
  const bool space = settings.truth("add_prefix_space").value_or(true);
  const std::string wanted = !space ? "never" : legacy ? "always" : "first";
  const std::string scheme = part.value("prepend_scheme", "always");
  if (scheme != wanted)
    said.push_back("its legacy and add_prefix_space ask for the prepend_scheme " + wanted +
                   ", and the pre-tokenizer has " + scheme);
}

}  // namespace

std::vector<std::string> unheeded_settings(const Tokenizer& tokenizer) {
  std::vector<std::string> said;
  say_missing_tokens(tokenizer, said);
  Settings settings;
  settings.config = read_object(tokenizer.folder() + "/tokenizer_config.json");
  const Json name = settings.config.value("tokenizer_class", Json());
  if (!name.is_string()) return said;
  settings.tokenizer_class = name.get<std::string>();
  if (settings.tokenizer_class.ends_with("Fast"))
    settings.tokenizer_class.resize(settings.tokenizer_class.size() - 4);
  if (std::ranges::count(kBuilding, settings.tokenizer_class) == 0) return said;
  settings.pipeline = pipeline_texts(tokenizer.folder());
  say_case(settings, said);
  say_byte_level_space(settings, said);
  say_metaspace(settings, said);
  return said;
}

}  // namespace hftrain::tokenizer

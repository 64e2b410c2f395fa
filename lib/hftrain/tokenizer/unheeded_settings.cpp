#include "hftrain/tokenizer/unheeded_settings.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "hftrain/tokenizer/aligned_text.h"
#include "hftrain/tokenizer/class_pipelines.h"
#include "hftrain/tokenizer/json_part.h"
#include "hftrain/tokenizer/named_tokens.h"
#include "hftrain/tokenizer/normalizers.h"
#include "hftrain/tokenizer/tokenizer_classes.h"
#include "hftrain/tokenizer/tokenizer_file.h"

namespace hftrain::tokenizer {
namespace {

constexpr size_t kNamed = 5;  // tokens that a sentence names
// Classes of transformers 5 that build a pipeline of their settings, whatever the file has: a BertNormalizer, …
constexpr std::array kOfCase = {"BertTokenizer",     "DistilBertTokenizer", "ElectraTokenizer",
                                "LayoutLMTokenizer", "LxmertTokenizer",     "MobileBertTokenizer",
                                "SplinterTokenizer", "SqueezeBertTokenizer"};
// … a ByteLevel …
constexpr std::array kOfBytes = {"BartTokenizer", "CodeGenTokenizer", "DebertaTokenizer",
                                 "GPT2Tokenizer", "LEDTokenizer",     "LongformerTokenizer",
                                 "MvpTokenizer",  "Qwen2Tokenizer",   "RobertaTokenizer"};
// … or a Metaspace.
constexpr const char* kOfMarks = "LlamaTokenizer";

// Parts of tokenizer.json without its vocabulary.
struct PipelineTexts {
  Json normalizer, pre_tokenizer, post_processor, added_tokens, unk_token;
  std::optional<std::string> vanishing;  // an added token that its normalizer makes nothing of
};

struct Settings {
  Json config;
  std::string tokenizer_class;  // without "Fast"
  std::string model_type;       // of the config.json beside it; empty: there is none
  PipelineTexts pipeline;

  // A truth of the config; unset where it says none.
  std::optional<bool> truth(const char* key) const {
    const auto found = config.find(key);
    return found != config.end() && found->is_boolean() ? std::optional(found->get<bool>()) : std::nullopt;
  }
};

std::optional<std::string> vanishing_token(const JsonPart& root) {
  const auto part = root.find("normalizer"), added = root.find("added_tokens");
  if (!part || !added) return std::nullopt;
  const auto normalizer = read_normalizer(*part);
  for (const JsonPart& token : added->items()) {
    const std::string content(token.text("content"));
    if (content.empty() || !token.boolean("normalized", !token.boolean("special", false))) continue;
    AlignedText text(content);
    normalizer->normalize(text);
    if (text.empty()) return content;
  }
  return std::nullopt;
}

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
  take("post_processor", texts.post_processor);
  take("added_tokens", texts.added_tokens);
  simdjson::dom::element unknown;
  std::string_view content;
  if (root.at_pointer("/model/unk_token").get(unknown) == simdjson::SUCCESS && !unknown.get(content))
    texts.unk_token = std::string(content);
  texts.vanishing = vanishing_token(JsonPart(root, folder + "/tokenizer.json"));
  return texts;
}

Json read_object(const std::string& path) {
  if (!path_exists(path)) return Json::object();
  const Json read = read_json_file(path);
  return read.is_object() ? read : Json::object();
}

std::string text_in(const Json& object, const char* key) {
  const Json value = object.value(key, Json());
  return value.is_string() ? value.get<std::string>() : "";
}

const char* word(const Json& value) {
  return value.is_null() ? "null" : value == true ? "true" : "false";
}

void add_token(const Json& value, std::vector<std::string>& tokens) {
  if (auto token = token_text(value)) tokens.push_back(*std::move(token));
}

// Every token that the settings name.
std::vector<std::string> tokens_named(const Json& settings) {
  std::vector<std::string> tokens;
  for (const auto& [key, value] : settings.items()) {
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
  for (const std::string& token : tokens_named(named_in_files(tokenizer.folder()))) {
    if (!token.empty() && !tokenizer.token_to_id(token) && std::ranges::count(missing, token) == 0)
      missing.push_back(token);
  }
  if (missing.empty()) return;
  const bool more = missing.size() > kNamed;
  missing.resize(std::min(missing.size(), kNamed));
  said.push_back("tokens that it names are added to the vocabulary there, and are other text here: " +
                 join(missing, ", ") + (more ? ", …" : ""));
}

// A sentence on the first flag in which a token of tokenizer_config.json is not that of tokenizer.json. That one
// is looked for in normalised text makes a difference where there is a normalizer.
std::optional<std::string> other_flag(const Json& token, const Json& in_file, bool normalizes) {
  for (const std::string flag : {"lstrip", "rstrip", "single_word", "normalized"}) {
    if ((flag == "normalized" && !normalizes) || !token.contains(flag) || !in_file.contains(flag)) continue;
    if (token.at(flag) == in_file.at(flag)) continue;
    return "its added_tokens_decoder gives " + token.at("content").dump() + " the " + flag + ' ' +
           word(token.at(flag)) + ", and tokenizer.json " + word(in_file.at(flag));
  }
  return std::nullopt;
}

// Tokens of added_tokens_decoder take the place of the file's.
void say_flags(const Settings& settings, std::vector<std::string>& said) {
  const Json tokens = settings.config.value("added_tokens_decoder", Json());
  if (!tokens.is_object()) return;
  std::map<std::string, const Json*> in_file;
  for (const Json& token : settings.pipeline.added_tokens) in_file[text_in(token, "content")] = &token;
  for (const Json& token : tokens) {
    const auto found = token.is_object() ? in_file.find(text_in(token, "content")) : in_file.end();
    if (found == in_file.end()) continue;
    const auto sentence = other_flag(token, *found->second, !settings.pipeline.normalizer.is_null());
    if (sentence) return said.push_back(*sentence);  // the first says enough
  }
}

void say_vanishing_token(const Settings& settings, std::vector<std::string>& said) {
  const std::optional<std::string>& token = settings.pipeline.vanishing;
  if (!token) return;
  said.push_back("the normalizer of tokenizer.json makes nothing of its added token " + Json(*token).dump() +
                 ", which transformers then finds between all characters of every text, and which is found "
                 "nowhere here (it needs \"normalized\": false)");
}

void say_split_special_tokens(const Settings& settings, std::vector<std::string>& said) {
  if (settings.truth("split_special_tokens").value_or(false))
    said.push_back("split_special_tokens is true, and special tokens in a text are single tokens here");
}

void say_case(const Settings& settings, std::vector<std::string>& said) {
  const Json part = part_of_type(settings.pipeline.normalizer, "BertNormalizer");
  if (std::ranges::count(kOfCase, settings.tokenizer_class) == 0 || part.is_null()) return;
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
  const Json part = part_of_type(settings.pipeline.pre_tokenizer, "ByteLevel");
  const bool space = settings.truth("add_prefix_space").value_or(false);
  if (std::ranges::count(kOfBytes, settings.tokenizer_class) == 0 || part.is_null()) return;
  if (part.value("add_prefix_space", Json(true)) != space)
    said.push_back(std::string("add_prefix_space is ") + word(space) + ", and the pre-tokenizer's " +
                   word(part.value("add_prefix_space", Json(true))));
}

// Beside a model that it knows another class of; beside one that it knows of none AutoTokenizer takes the file as it is.
bool builds_metaspace(const Settings& settings) {
  if (settings.tokenizer_class != kOfMarks) return false;
  if (settings.model_type.empty() || to_lower(kOfMarks) == settings.model_type + "tokenizer") return true;
  return class_that_opens("", settings.model_type) != class_that_opens("", "") &&
         class_that_opens(kOfMarks, settings.model_type) == kOfMarks;
}

void say_metaspace(const Settings& settings, std::vector<std::string>& said) {
  if (!builds_metaspace(settings)) return;
  const PipelineTexts& pipeline = settings.pipeline;
  const Json part = part_of_type(pipeline.pre_tokenizer, "Metaspace");
  const bool of_bytes = !part_of_type(pipeline.pre_tokenizer, "ByteLevel").is_null();
  const std::string instead = std::string(kOfMarks) + " of transformers 5 has a Metaspace in the place of ";
  if (part.is_null() && of_bytes)
    said.push_back(
        instead + "the file's ByteLevel when it opens a folder, and makes other tokens of nearly every text");
  if (part.is_null() && !part_of_type(pipeline.normalizer, "Prepend").is_null())
    said.push_back(instead +
                   "the file's Prepend, and makes other tokens after special ones and of spaces "
                   "that begin a text");
  if (part.is_null() && !of_bytes && part_of_type(pipeline.normalizer, "Prepend").is_null())
    said.push_back(instead + "what cuts the file's texts at spaces");
  if (part.is_null()) return;
  const bool legacy = settings.truth("legacy").value_or(false);
  const bool space = settings.truth("add_prefix_space").value_or(true);
  const std::string wanted = !space ? "never" : legacy ? "always" : "first";
  const std::string scheme = part.value("prepend_scheme", "always");
  if (scheme != wanted)
    said.push_back("its legacy and add_prefix_space ask for the prepend_scheme " + wanted +
                   ", and the pre-tokenizer has " + scheme);
}

std::map<std::string, FileToken> tokens_by_role(const Tokenizer& tokenizer) {
  const Json named = named_tokens(tokenizer.folder());
  std::map<std::string, FileToken> roles;
  for (const char* role : kTokenRoles) {
    const std::optional<std::string> content = token_text(named.value(role, Json()));
    if (content) roles[role] = {*content, tokenizer.token_to_id(*content)};
  }
  return roles;
}

// They become added tokens there, which are found in a text before anything else.
void say_tokens_in_pieces(const Tokenizer& tokenizer, const Settings& settings,
                          std::vector<std::string>& said) {
  std::vector<std::string> told;
  for (const std::string& token : tokens_named(named_tokens(tokenizer.folder()))) {
    const bool added = std::ranges::any_of(settings.pipeline.added_tokens, [&](const Json& each) {
      return each.is_object() && text_in(each, "content") == token;
    });
    if (!added && tokenizer.token_to_id(token) && std::ranges::count(told, token) == 0) told.push_back(token);
  }
  if (told.empty()) return;
  const bool more = told.size() > kNamed;
  told.resize(std::min(told.size(), kNamed));
  said.push_back(
      "special tokens that are no added tokens of tokenizer.json are found whole in a text there, and as any "
      "text "
      "here: " +
      join(told, ", ") + (more ? ", …" : ""));
}

void say_replaced_parts(const Tokenizer& tokenizer, const Settings& settings,
                        std::vector<std::string>& said) {
  const PipelineTexts& pipeline = settings.pipeline;
  const std::string opens = class_that_opens(settings.tokenizer_class, settings.model_type);
  for (std::string& each :
       replaced_parts(opens, {pipeline.normalizer, pipeline.pre_tokenizer, pipeline.post_processor,
                              pipeline.unk_token, tokens_by_role(tokenizer)}))
    said.push_back(std::move(each));
}

Settings read_settings_of(const std::string& folder) {
  Settings settings;
  settings.config = read_object(folder + "/tokenizer_config.json");
  settings.tokenizer_class = class_without_fast(text_in(settings.config, "tokenizer_class"));
  settings.model_type = text_in(read_object(folder + "/config.json"), "model_type");
  settings.pipeline = pipeline_texts(folder);
  return settings;
}

}  // namespace

std::vector<std::string> unheeded_settings(const Tokenizer& tokenizer) {
  std::vector<std::string> said;
  say_missing_tokens(tokenizer, said);
  const Settings settings = read_settings_of(tokenizer.folder());
  say_flags(settings, said);
  say_vanishing_token(settings, said);
  say_split_special_tokens(settings, said);
  say_case(settings, said);
  say_byte_level_space(settings, said);
  say_metaspace(settings, said);
  say_tokens_in_pieces(tokenizer, settings, said);
  say_replaced_parts(tokenizer, settings, said);
  return said;
}

}  // namespace hftrain::tokenizer

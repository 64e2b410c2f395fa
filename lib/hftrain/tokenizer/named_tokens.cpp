#include "hftrain/tokenizer/named_tokens.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json_member.h"
#include "hftrain/tokenizer/tokenizer_classes.h"

namespace hftrain::tokenizer {
namespace {

bool is_other_token(const std::string& key) {
  return key.ends_with("_token") && std::ranges::count(kTokenRoles, key) == 0;
}

void take_named(const Json& settings, const char* key, Json& tokens) {
  const auto found = settings.find(key);
  if (found != settings.end() && found->is_object()) tokens.update(*found);
}

// Those of tokenizer_config.json that win over the other file's. As objects its keys of any name come later, and do not.
Json first_named(const Json& config) {
  Json tokens = Json::object();
  for (const auto& [key, token] : config.items()) {
    if (is_other_token(key) && token.is_string()) tokens[key] = token;
  }
  take_named(config,
             config.contains("extra_special_tokens") ? "extra_special_tokens" : "additional_special_tokens",
             tokens);
  if (tokens.empty()) take_named(config, "model_specific_special_tokens", tokens);
  return tokens;
}

}  // namespace

std::optional<std::string> token_text(const Json& token) {
  if (token.is_string()) return token.get<std::string>();
  if (!token.is_object() || !token.contains("content") || !token["content"].is_string()) return std::nullopt;
  return token["content"].get<std::string>();
}

Json settings_in(const std::string& path) {
  std::error_code failed;  // a link in a circle is there, and cannot be read
  if (std::filesystem::status(path, failed).type() == std::filesystem::file_type::not_found)
    return Json::object();
  Json json = read_json_file(path);
  if (json.is_object()) return json;
  throw Error(ExitCode::kData, "not a tokenizer's settings")
      .where(path)
      .why("the file holds no JSON object")
      .hint("copy the file from where the tokenizer came from");
}

Json named_in_files(const std::string& folder) {
  Json named = settings_in(folder + "/tokenizer_config.json");
  if (!named.contains("added_tokens_decoder")) named.update(settings_in(folder + "/special_tokens_map.json"));
  return named;
}

std::string class_of_folder(const std::string& folder) {
  const std::string of_model = folder + "/config.json";
  const Json model = path_exists(of_model) ? read_json_file(of_model) : Json::object();
  std::string named = json_text(settings_in(folder + "/tokenizer_config.json"), "tokenizer_class");
  if (named.empty()) named = json_text(model, "tokenizer_class");
  return class_that_opens(std::move(named), json_text(model, "model_type"));
}

Json named_tokens(const std::string& folder) {
  Json named = named_in_files(folder);
  const OwnTokens* own = tokens_of_class(class_of_folder(folder));
  if (own == nullptr) return named;
  for (size_t role = 0; role < kTokenRoles.size(); ++role) {
    const char* const token = own->at(role);
    if (token != nullptr && !named.contains(kTokenRoles[role])) named[kTokenRoles[role]] = token;
  }
  return named;
}

Json model_specific_tokens(const std::string& folder) {
  const Json config = settings_in(folder + "/tokenizer_config.json");
  Json tokens = Json::object(), named = first_named(config);
  for (const auto& [key, token] : config.items()) {
    if (is_other_token(key) && json_text(token, "__type") == "AddedToken") tokens[key] = token;
  }
  if (!config.contains("added_tokens_decoder")) {
    const Json map = settings_in(folder + "/special_tokens_map.json");
    for (const auto& [key, token] : map.items()) {
      if (is_other_token(key)) tokens[key] = token;
    }
    take_named(map, "extra_special_tokens", named);
  }
  tokens.update(named);
  return tokens;
}

}  // namespace hftrain::tokenizer

#include "launcher/front/chat_facts.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/plan/resolve.h"
#include "hftrain/plan/special_tokens.h"

namespace hftrain::front {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTemplateFlag = "--chat_template_path";

std::optional<std::string> token_named(const chat::TemplateFolder& folder, const std::string& name) {
  for (const auto& [key, value] : folder.special_tokens) {
    if (key == name && value.as_text() != nullptr) return value.as_text()->bytes;
  }
  return std::nullopt;
}

void set_token(chat::TemplateFolder& folder, const std::string& name, const std::string& token) {
  std::erase_if(folder.special_tokens, [&](const auto& held) { return held.first == name; });
  folder.special_tokens.emplace_back(name, chat::Value::text(token));
}

bool names_template_file(const std::string& path) {
  return path.ends_with(".jinja") || path.ends_with(".j2");
}

bool is_template_file(const std::string& path) {
  std::error_code ignored;
  return names_template_file(path) && fs::is_regular_file(path, ignored);
}

// A template speaks in the tokens of its own tokenizer.
void require_tokens(const std::string& folder, const tokenizer::Tokenizer& tokenizer) {
  const std::string path = folder + "/tokenizer.json";
  if (!path_exists(path)) return;
  const Json file = read_json_file(path);
  std::vector<std::string> missing;
  for (const Json& token : file.value("added_tokens", Json::array())) {
    const std::string content = token.is_object() ? token.value("content", "") : "";
    if (!content.empty() && !tokenizer.token_to_id(content)) missing.push_back(content);
  }
  if (missing.empty()) return;
  const size_t count = missing.size();
  missing.resize(std::min<size_t>(count, 5));
  throw Error(ExitCode::kData, "the template's tokenizer has tokens that the model's tokenizer has not")
      .where(std::string(kTemplateFlag) + ' ' + folder)
      .why("they are " + join(missing, ", ") + (count > 5 ? ", …" : ""))
      .hint(
          "add them to the tokenizer's added_tokens (the model gets rows for them), or name the template's "
          "file alone");
}

// The one template of the flag in the place of the tokenizer's. Whether it brings an end of text.
bool take_template(const std::string& named, const std::string& place, const tokenizer::Tokenizer& tokenizer,
                   plan::ModelFacts& facts) {
  chat::TemplateFolder::Source source;
  bool brings_end = false;
  if (is_template_file(place)) {
    source = {read_file(place, ExitCode::kData), place};
  } else {
    const chat::TemplateFolder other = chat::read_template_folder(place);
    try {
      source = chat::choose_template(other, std::nullopt, false);
    } catch (Error& error) {
      throw error.where(std::string(kTemplateFlag) + ' ' + named)
          .hint("a .jinja or .j2 file, or the folder of a tokenizer that has a template");
    }
    require_tokens(place, tokenizer);
    if (const auto end = token_named(other, "eos_token")) {
      set_token(*facts.chat, "eos_token", *end);
      facts.tokenizer_settings["eos_token"] = *end;
      brings_end = true;
    }
  }
  facts.chat_template = source.text;
  facts.chat->templates = {{"default", std::move(source)}};
  return brings_end;
}

int64_t id_of(const std::string& token, const char* flag, const tokenizer::Tokenizer& tokenizer) {
  if (const auto id = tokenizer.token_to_id(token)) return *id;
  throw Error(ExitCode::kUsage, "the tokenizer has no token '" + token + "'")
      .where(flag)
      .why("texts of tokens that the model does not know cannot be learnt")
      .hint("a token of " + tokenizer.folder() + "/tokenizer.json");
}

void take_token(const std::string& name, const std::optional<std::string>& asked, plan::ModelFacts& facts) {
  if (!asked) return;
  set_token(*facts.chat, name, *asked);
  facts.tokenizer_settings[name] = *asked;
}

}  // namespace

void add_chat_facts(const arguments::ParseOutcome& parsed, const Environment& environment,
                    const tokenizer::Tokenizer& tokenizer, plan::ModelFacts& facts) {
  const auto& flags = plan::task_row(parsed).flags;
  if (std::find(flags.begin(), flags.end(), "chat_template_path") == flags.end()) return;
  const arguments::InstructionArguments& asked = parsed.arguments.instructions;
  facts.chat = chat::read_template_folder(facts.tokenizer_folder);
  plan::SpecialTokens& ids = *facts.special_tokens;
  take_token("eos_token", asked.eos_token, facts);
  bool other_end = false;
  if (const auto& path = asked.chat_template_path) {
    const arguments::ModelArguments& model = parsed.arguments.model;
    if (names_template_file(*path) && !path_exists(*path)) {
      throw Error(ExitCode::kData, "there is no template in " + *path)
          .where(kTemplateFlag)
          .why("no such file")
          .hint(
              "the path of a .jinja or .j2 file; a relative one starts in the folder where hftrain was "
              "started");
    }
    const std::string place = is_template_file(*path)
                                  ? *path
                                  : plan::resolve_model_folder(*path, kTemplateFlag, model.model_revision,
                                                               plan::hub_cache(model.cache_dir, environment));
    other_end = take_template(*path, place, tokenizer, facts);
  }
  const auto end = token_named(*facts.chat, "eos_token");
  if (end && facts.tokenizer_settings.contains("eos_token"))
    ids.eos = id_of(*end, asked.eos_token == end ? "--eos_token" : kTemplateFlag, tokenizer);
  if (other_end && ids.eos) plan::replace_end_tokens(*ids.eos, facts);
  take_token("pad_token", asked.pad_token, facts);
  if (asked.pad_token) ids.pad = id_of(*asked.pad_token, "--pad_token", tokenizer);
  if (ids.pad || !ids.eos || !end) return;
  ids.pad = ids.eos;
  take_token("pad_token", end, facts);
}

}  // namespace hftrain::front

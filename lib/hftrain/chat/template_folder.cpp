#include "hftrain/chat/template_folder.h"

#include <algorithm>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/named_tokens.h"
#include "hftrain/tokenizer/tokenizer_classes.h"

namespace hftrain::chat {
namespace {

namespace fs = std::filesystem;

// That nothing stands there is an answer; a link in a circle, say, cannot be read.
fs::file_type type_of(const fs::path& path) {
  std::error_code failed;
  const fs::file_type type = fs::status(path, failed).type();
  if (type != fs::file_type::none) return type;
  throw system_error(failed.value(), "cannot open", path.string(), ExitCode::kData);
}

void add_file(const std::string& name, const fs::path& path, TemplateFolder& found) {
  if (type_of(path) == fs::file_type::regular)
    found.templates[name] = {read_file(path.string(), ExitCode::kData), path.string()};
}

void add_jinja_files(const fs::path& folder, TemplateFolder& found) {
  add_file("default", folder / "chat_template.jinja", found);
  const fs::path more = folder / "additional_chat_templates";
  if (type_of(more) != fs::file_type::directory) return;
  std::error_code failed;
  for (fs::directory_iterator entry(more, failed), end; !failed && entry != end; entry.increment(failed)) {
    const fs::path& path = entry->path();
    if (path.extension() == ".jinja") add_file(path.stem().string(), path, found);
  }
  if (failed) throw system_error(failed.value(), "cannot list", more.string(), ExitCode::kData);
}

[[noreturn]] void refuse_shape(const std::string& origin) {
  throw Error(ExitCode::kData, "chat_template cannot be read")
      .where(origin)
      .why("it is a text, an object of texts by name, or a list of objects with a name and a template")
      .hint("write it so, or name another template with --chat_template_path");
}

void add_from_settings(const Json& settings, const std::string& origin, TemplateFolder& found) {
  const auto held = settings.find("chat_template");
  if (held == settings.end() || held->is_null()) return;
  if (held->is_string()) {
    found.templates["default"] = {held->get<std::string>(), origin + " (chat_template)"};
    return;
  }
  const auto add = [&](const std::string& name, const Json& text) {
    if (!text.is_string()) refuse_shape(origin);
    found.templates[name] = {text.get<std::string>(), origin + " (chat_template " + name + ")"};
  };
  if (held->is_object()) {
    for (const auto& [name, text] : held->items()) add(name, text);
    return;
  }
  if (!held->is_array()) refuse_shape(origin);
  for (const Json& one : *held) {
    const bool named =
        one.is_object() && one.contains("name") && one["name"].is_string() && one.contains("template");
    if (!named) refuse_shape(origin);
    add(one["name"].get<std::string>(), one["template"]);
  }
}

// The roles first.
Variables special_tokens_in(const std::string& folder) {
  Variables tokens;
  const auto add = [&](const std::string& name, const Json& token) {
    if (auto text = tokenizer::token_text(token)) tokens.emplace_back(name, Value::text(std::move(*text)));
  };
  const Json named = tokenizer::named_tokens(folder), others = tokenizer::model_specific_tokens(folder);
  for (const char* role : tokenizer::kTokenRoles) {
    if (!others.contains(role)) add(role, named.value(role, Json()));
  }
  for (const auto& [name, token] : others.items()) add(name, token);
  return tokens;
}

}  // namespace

TemplateFolder read_template_folder(const std::string& folder) {
  TemplateFolder found;
  const fs::path place(folder);
  const Json settings = tokenizer::settings_in(place / "tokenizer_config.json");
  add_jinja_files(place, found);
  if (found.templates.empty()) add_from_settings(settings, (place / "tokenizer_config.json").string(), found);
  if (found.templates.empty()) {
    add_from_settings(tokenizer::settings_in(place / "chat_template.json"),
                      (place / "chat_template.json").string(), found);
  }
  found.special_tokens = special_tokens_in(folder);
  return found;
}

const TemplateFolder::Source& choose_template(const TemplateFolder& folder,
                                              const std::optional<std::string>& name, bool has_tools) {
  const auto at = [&](const std::string& wanted) { return folder.templates.find(wanted); };
  auto chosen = name ? at(*name) : folder.templates.end();
  if (!name && has_tools) chosen = at("tool_use");
  if (!name && chosen == folder.templates.end()) chosen = at("default");
  if (chosen != folder.templates.end()) return chosen->second;
  std::string names;
  for (const auto& [other, source] : folder.templates) names += (names.empty() ? "" : ", ") + other;
  throw Error(ExitCode::kData, name ? "the tokenizer has no chat template '" + *name + "'"
                                    : "the tokenizer has no chat template")
      .why(names.empty() ? "neither chat_template.jinja nor chat_template in tokenizer_config.json is there"
                         : "it has " + names)
      .hint("name a template's file with --chat_template_path");
}

}  // namespace hftrain::chat

// The chat templates that lie in a tokenizer's folder, and the special tokens that they name.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "hftrain/chat/chat_template.h"

namespace hftrain::chat {

struct TemplateFolder {
  struct Source {
    std::string text, origin;  // origin: its file, and the name in it where the file holds several
  };
  std::map<std::string, Source> templates;  // by name; "default" is the one that is meant without one
  Variables special_tokens;                 // bos_token, image_token and the like, those that are set
};

// Reads what transformers reads: chat_template.jinja with additional_chat_templates/NAME.jinja, or else chat_template of
// tokenizer_config.json (a text, or a list of named ones), or else chat_template.json of a processor. Errors (kData): files
// that cannot be read.
TemplateFolder read_template_folder(const std::string& folder);

// The template of that name; without one "tool_use" where there are tools and it is there, or "default". Errors (kData): there
// is none.
const TemplateFolder::Source& choose_template(const TemplateFolder& folder,
                                              const std::optional<std::string>& name, bool has_tools);

}  // namespace hftrain::chat

// The chat templates of a tokenizer, ready to render the rows of a run.
#pragma once

#include <ctime>
#include <optional>

#include "hftrain/base/error.h"
#include "hftrain/chat/chat_template.h"
#include "hftrain/chat/conversation.h"
#include "hftrain/chat/template_folder.h"

namespace hftrain::tasks {

// Immutable; any number of threads use one.
class ConversationTemplates {
 public:
  // What is wrong with a template is told when a row needs it: texts need none. `now` is what strftime_now() tells.
  ConversationTemplates(const chat::TemplateFolder& folder, const std::tm& now);

  // Throws what is wrong with the template that conversations without tools have, or that it marks nothing as the
  // assistant's: Error (exit code 4).
  void require_marks() const;
  // Errors (exit code 4) as in conversation.h, and what is wrong with the template.
  chat::EncodedConversation encode(const chat::Conversation& conversation,
                                   const tokenizer::Tokenizer& tokenizer) const;

 private:
  struct Read {
    std::string origin;
    std::optional<chat::ChatTemplate> usable;
    std::optional<Error> problem;  // where it is not
  };
  static Read read(const chat::TemplateFolder& folder, bool has_tools);
  const chat::ChatTemplate& of(const Read& read) const;

  Read plain_, with_tools_;
  chat::Variables special_tokens_;
  std::tm now_;
};

}  // namespace hftrain::tasks

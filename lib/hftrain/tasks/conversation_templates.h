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

  // Errors (exit code 4) as in conversation.h, and what is wrong with the template.
  chat::EncodedConversation encode(const chat::Conversation& conversation,
                                   const tokenizer::Tokenizer& tokenizer) const;
  // With a mask of what the assistant says: what the template marks, and that of a template without marks as
  // answers.h finds it, with its errors.
  chat::EncodedConversation encode_with_answers(const chat::Conversation& conversation,
                                                const tokenizer::Tokenizer& tokenizer) const;
  // Whether the template of such conversations has a {% generation %}.
  bool marks(const chat::Conversation& conversation) const;

 private:
  struct Read {
    std::string origin;
    std::optional<chat::ChatTemplate> usable;
    std::optional<Error> problem;  // where it is not
  };
  static Read read(const chat::TemplateFolder& folder, bool has_tools);
  // Throws what is wrong with it.
  const chat::ChatTemplate& template_of(const chat::Conversation& conversation) const;

  Read plain_, with_tools_;
  chat::Variables special_tokens_;
  std::tm now_;
};

}  // namespace hftrain::tasks

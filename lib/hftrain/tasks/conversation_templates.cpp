#include "hftrain/tasks/conversation_templates.h"

namespace hftrain::tasks {

ConversationTemplates::ConversationTemplates(const chat::TemplateFolder& folder, const std::tm& now)
    : plain_(read(folder, false)),
      with_tools_(read(folder, true)),
      special_tokens_(folder.special_tokens),
      now_(now) {}

ConversationTemplates::Read ConversationTemplates::read(const chat::TemplateFolder& folder, bool has_tools) {
  Read made;
  try {
    const chat::TemplateFolder::Source& source = chat::choose_template(folder, std::nullopt, has_tools);
    made.origin = source.origin;
    made.usable = chat::ChatTemplate::parse(source.text, source.origin);
  } catch (const Error& error) {
    made.problem = error;
  }
  return made;
}

const chat::ChatTemplate& ConversationTemplates::of(const Read& read) const {
  if (read.problem) throw Error(*read.problem);
  return *read.usable;
}

void ConversationTemplates::require_marks() const {
  if (of(plain_).marks_generation()) return;
  throw Error(ExitCode::kData, "the chat template does not mark what the assistant says")
      .where(plain_.origin)
      .why(
          "--assistant_only_loss counts what stands between {% generation %} and {% endgeneration %}, and "
          "there is no such mark")
      .hint("put the marks around the assistant's words in a copy, and name it with --chat_template_path");
}

chat::EncodedConversation ConversationTemplates::encode(const chat::Conversation& conversation,
                                                        const tokenizer::Tokenizer& tokenizer) const {
  const bool has_tools = !conversation.tools.is<chat::None>();
  return chat::encode_conversation(of(has_tools ? with_tools_ : plain_), special_tokens_, conversation, now_,
                                   tokenizer);
}

}  // namespace hftrain::tasks

#include "hftrain/tasks/conversation_templates.h"

#include <utility>

#include "hftrain/chat/answers.h"

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

const chat::ChatTemplate& ConversationTemplates::template_of(const chat::Conversation& conversation) const {
  const Read& read = conversation.tools.is<chat::None>() ? plain_ : with_tools_;
  if (read.problem) throw Error(*read.problem);
  return *read.usable;
}

bool ConversationTemplates::marks(const chat::Conversation& conversation) const {
  return template_of(conversation).marks_generation();
}

chat::EncodedConversation ConversationTemplates::encode(const chat::Conversation& conversation,
                                                        const tokenizer::Tokenizer& tokenizer) const {
  chat::Rendered rendered =
      chat::render_conversation(template_of(conversation), special_tokens_, conversation, now_);
  rendered.generated.clear();  // ids come sooner without places in the text
  return chat::encode_rendered(std::move(rendered), tokenizer);
}

chat::EncodedConversation ConversationTemplates::encode_with_answers(
    const chat::Conversation& conversation, const tokenizer::Tokenizer& tokenizer) const {
  const chat::ChatTemplate& used = template_of(conversation);
  chat::Rendered rendered = chat::render_conversation(used, special_tokens_, conversation, now_);
  rendered.found_by_opening = !used.marks_generation();
  if (rendered.found_by_opening)
    rendered.generated = chat::answers_in(rendered.text, used, special_tokens_, conversation, now_);
  return chat::encode_rendered(std::move(rendered), tokenizer);
}

}  // namespace hftrain::tasks

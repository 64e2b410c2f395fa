#include "hftrain/chat/conversation.h"

#include "hftrain/base/error.h"

namespace hftrain::chat {
namespace {

// Tokens of [begin, end): up to the end of all where no token holds the last character, as in transformers. False where
// none holds the first one, which ends the marking there.
bool mark(const tokenizer::Encoding& encoding, const CharacterRange& range, std::vector<uint8_t>& assistant) {
  const auto first = encoding.char_to_token(range.begin);
  if (!first) return false;
  const auto last = encoding.char_to_token(range.end - 1);
  const size_t end = last && *last != 0 ? *last + 1 : assistant.size();
  for (size_t i = *first; i < end; ++i) assistant[i] = 1;
  return true;
}

// Begins and ends at characters that tokens hold; empty where none is.
CharacterRange held_by_tokens(const tokenizer::Encoding& encoding, CharacterRange range) {
  while (range.begin < range.end && !encoding.char_to_token(range.begin)) ++range.begin;
  while (range.begin < range.end && !encoding.char_to_token(range.end - 1)) --range.end;
  return range;
}

}  // namespace

Rendered render_conversation(const ChatTemplate& chat_template, const Variables& special_tokens,
                             const Conversation& conversation, const std::tm& now) {
  const Sequence* messages = conversation.messages.as_sequence();
  if (messages == nullptr || messages->items.empty()) {
    throw Error(ExitCode::kData, "a conversation has no messages")
        .where("the conversation")
        .why("a chat template needs one at least")
        .hint("give it a message with a role and a content");
  }
  Variables variables = special_tokens;
  variables.insert(variables.end(), conversation.more.begin(), conversation.more.end());
  variables.emplace_back("messages", conversation.messages);
  variables.emplace_back("tools", conversation.tools);
  variables.emplace_back("documents", conversation.documents);
  variables.emplace_back("add_generation_prompt", Value(conversation.add_generation_prompt));
  return chat_template.render(variables, now);
}

EncodedConversation encode_rendered(Rendered rendered, const tokenizer::Tokenizer& tokenizer) {
  EncodedConversation made{.text = std::move(rendered.text)};
  if (rendered.generated.empty()) {
    tokenizer.encode_into(made.text, false, made.ids);
    made.assistant.assign(made.ids.size(), 0);
    return made;
  }
  const tokenizer::Encoding encoding =
      tokenizer.encode(tokenizer::EncodeInput{std::string_view(made.text)}, {.add_special_tokens = false});
  made.ids = encoding.ids;
  made.assistant.assign(made.ids.size(), 0);
  for (CharacterRange range : rendered.generated) {
    if (rendered.found_by_opening) {
      range = held_by_tokens(encoding, range);
      if (range.begin == range.end) continue;
    }
    if (!mark(encoding, range, made.assistant)) break;
  }
  return made;
}

}  // namespace hftrain::chat

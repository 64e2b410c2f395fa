// From a conversation to token ids, with a mask of what the assistant says: transformers' apply_chat_template.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hftrain/chat/chat_template.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::chat {

struct Conversation {
  Value messages;  // a list of dicts
  Value tools = Value(None()), documents = Value(None());
  bool add_generation_prompt = false;
  Variables more;  // further names that the template sees; they win over special tokens
};

struct EncodedConversation {
  std::string text;
  std::vector<tokenizer::TokenId> ids;  // of the text, without special tokens but the template's own
  std::vector<uint8_t> assistant;       // 1 for tokens that stand for what is generated
};

// Errors (kData): an empty conversation, and those of ChatTemplate::render.
Rendered render_conversation(const ChatTemplate& chat_template, const Variables& special_tokens,
                             const Conversation& conversation, const std::tm& now);
EncodedConversation encode_rendered(Rendered rendered, const tokenizer::Tokenizer& tokenizer);

}  // namespace hftrain::chat

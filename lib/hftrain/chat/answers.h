// What the assistant says in a conversation whose template does not mark it. A template tells by itself what a model is to
// write: it is asked for the opening of an answer (add_generation_prompt) whenever an answer is to come.
#pragma once

#include <string_view>
#include <vector>

#include "hftrain/chat/conversation.h"

namespace hftrain::chat {

// Of `text`, which is what the template makes of the whole conversation: for each message of the role "assistant", what
// stands behind the opening of an answer that the template writes after the messages before it (of one that begins the
// conversation, after a question), up to where the text of the conversation that ends with it ends. Ranges of nothing are left out.
// Errors (kData), each with the number of the message: the template has no opening of an answer, or writes another before this
// answer; it writes an answer otherwise once more follows, or nothing behind it; and
// those of render_conversation.
std::vector<CharacterRange> answers_in(std::string_view text, const ChatTemplate& chat_template,
                                       const Variables& special_tokens, const Conversation& conversation,
                                       const std::tm& now);

}  // namespace hftrain::chat

#include "hftrain/chat/answers.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/chat/dict.h"
#include "hftrain/chat/json_input.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

bool is_answer(const Value& message) {
  const Dict* fields = message.as_dict();
  const Value* role = fields != nullptr ? fields->find("role") : nullptr;
  const Text* name = role != nullptr ? role->as_text() : nullptr;
  return name != nullptr && name->bytes == "assistant";
}

// What a message says, as far as it is a text; nothing of one that calls tools.
std::string said_by(const Value& message) {
  const Value* content = message.as_dict()->find("content");
  const Text* text = content != nullptr ? content->as_text() : nullptr;
  return text != nullptr ? trim(text->bytes) : "";
}

[[noreturn]] void refuse(size_t message, const std::string& why) {
  throw Error(ExitCode::kData, "the chat template does not mark what the assistant says")
      .where("message " + std::to_string(message + 1) + " of the conversation")
      .why("there is no {% generation %} in it, and " + why)
      .hint(
          "put {% generation %} and {% endgeneration %} around the assistant's words in a copy of the "
          "template, and "
          "name it with --chat_template_path");
}

std::string common_beginning(const std::string& one, const std::string& other) {
  const auto parted = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  return {one.begin(), parted.first};
}

// What the template writes up to the first word of an answer that nothing stands before, as far as the opening of an answer to a
// question of the user's ends there; empty: that does not stand before it. Two answers without a letter in common show where
// their words begin, whatever the template writes before any message.
std::string opened_at_once(const std::function<std::string(Value messages, bool opens_answer)>& rendered) {
  const Value question = value_from_json(R"([{"role": "user", "content": "a"}])", "a question");
  const std::string asked = rendered(question, false), open = rendered(question, true);
  const std::string opening = open.substr(common_beginning(asked, open).size());
  const auto answered = [&](const char* messages) {
    return rendered(value_from_json(messages, "an answer"), false);
  };
  const std::string before_words = common_beginning(answered(R"([{"role": "assistant", "content": "a"}])"),
                                                    answered(R"([{"role": "assistant", "content": "b"}])"));
  const size_t at = opening.empty() ? std::string::npos : before_words.rfind(opening);
  return at == std::string::npos ? "" : before_words.substr(0, at + opening.size());
}

}  // namespace

std::vector<CharacterRange> answers_in(std::string_view text, const ChatTemplate& chat_template,
                                       const Variables& special_tokens, const Conversation& conversation,
                                       const std::tm& now) {
  const std::vector<Value>& messages = conversation.messages.as_sequence()->items;
  Conversation part = conversation;
  const auto rendered = [&](Value some, bool opens_answer) {
    part.messages = std::move(some);
    part.add_generation_prompt = opens_answer;
    return render_conversation(chat_template, special_tokens, part, now).text;
  };
  const auto first_messages = [&](size_t count, bool opens_answer) {
    return rendered(Value::list({messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(count)}),
                    opens_answer);
  };
  std::vector<CharacterRange> answers;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!is_answer(messages[i])) continue;
    const std::string opened = i == 0 ? opened_at_once(rendered) : first_messages(i, true);
    if (opened.empty() || (i > 0 && opened == first_messages(i, false)))
      refuse(i, i == 0 ? "its opening of an answer does not stand before one that begins a conversation"
                       : "it opens no answer where add_generation_prompt asks");
    if (!text.starts_with(opened))
      refuse(i, "its opening of an answer is not what it writes before this one");
    const std::string answered = first_messages(i + 1, false);
    if (!text.starts_with(answered)) refuse(i, "it writes this answer otherwise once more follows");
    const std::string said = said_by(messages[i]);
    if (!said.empty() && answered.ends_with(said))
      refuse(i, "it writes nothing behind this answer, so that a model would not learn to end one");
    const auto begin = static_cast<int64_t>(tokenizer::unicode::count(opened));
    const auto end = static_cast<int64_t>(tokenizer::unicode::count(answered));
    if (begin < end) answers.push_back({begin, end});
  }
  return answers;
}

}  // namespace hftrain::chat

#include "generate_chat.h"

#include <algorithm>
#include <ctime>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/chat/conversation.h"
#include "hftrain/chat/json_input.h"
#include "hftrain/chat/template_folder.h"

namespace hftrain::app {
namespace {

chat::TemplateFolder::Source only_template(const chat::TemplateFolder& found, const std::string& folder) {
  try {
    return chat::choose_template(found, std::nullopt, /*has_tools=*/false);
  } catch (Error& error) {
    throw error.where(folder);
  }
}

// `own`: of the tokenizer in `folder`; `path` names another one unless it is empty.
chat::TemplateFolder::Source source_of(const std::string& path, const chat::TemplateFolder& own,
                                       const std::string& folder) {
  if (path.empty()) return only_template(own, folder);
  if (is_folder(path)) return only_template(chat::read_template_folder(path), path);
  return {read_file(path, ExitCode::kData), path};
}

std::tm now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return local;
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Error no_room(const generation::Prompt& turn, const std::string& why, const std::string& hint) {
  return Error(ExitCode::kData, "the conversation leaves no room for an answer")
      .where("turn " + std::to_string(turn.number + 1))
      .why("it has " + std::to_string(turn.ids.size()) + " tokens by now, and " + why)
      .hint(hint);
}

std::string made_for(const WritingModel& model) {
  return "the model was made for " + std::to_string(model.config.positions) + " positions";
}

// Where somebody says how long answers may be.
void require_room(const WritingModel& model, const generation::Prompt& turn) {
  const auto asked = static_cast<int64_t>(turn.ids.size());
  const int64_t most = model.config.most_new_tokens(asked);
  if (most <= 0)
    throw no_room(turn, "max_length is " + std::to_string(*model.config.max_length) + " and counts all of it",
                  "a new chat, a larger max_length, or max_new_tokens, which counts answers alone");
  // The last token of an answer is not read.
  if (model.architecture->bounded_positions() && asked + most - 1 > model.config.positions)
    throw no_room(turn, "an answer may have " + std::to_string(most) + "; " + made_for(model),
                  "a new chat, or a smaller max_new_tokens or max_length");
}

// Positions that are computed go on behind those that were learned, where texts become worse: so that length must be asked for.
int64_t longest_answer(const WritingModel& model, const generation::Prompt& turn) {
  constexpr int64_t kAnswerTokens = 1024;
  if (model.config.positions == 0) return kAnswerTokens;
  const int64_t left = model.config.positions - static_cast<int64_t>(turn.ids.size());
  if (left > 0) return std::min(kAnswerTokens, left);
  throw no_room(turn, made_for(model),
                model.architecture->bounded_positions()
                    ? "a new chat"
                    : "a new chat; --max_new_tokens N goes beyond the positions");
}

}  // namespace

ChatHistory::ChatHistory(const WritingModel& model, const GenerateFlags& flags) : model_(model) {
  if (model.architecture->has_encoder_and_decoder())
    throw Error(ExitCode::kUsage, "a chat needs a decoder")
        .where("--chat")
        .why("this model reads one text and writes another: a conversation is not its input")
        .hint("leave --chat out");
  chat::TemplateFolder own = chat::read_template_folder(model.tokenizer->folder());
  const chat::TemplateFolder::Source source = source_of(flags.chat_template, own, model.tokenizer->folder());
  special_tokens_ = std::move(own.special_tokens);
  template_ = chat::ChatTemplate::parse(source.text, source.origin);
  if (!flags.system.empty()) messages_.push_back({"system", flags.system});
}

// The members of a message in the order in which people write them, which a template may show.
generation::Prompt ChatHistory::ask(const std::string& text) {
  messages_.push_back({"user", text});
  std::string all;
  for (const Message& message : messages_) {
    all += std::string(all.empty() ? "[" : ", ") + R"({"role": )" + quoted(message.role) +
           R"(, "content": )" + quoted(message.content) + '}';
  }
  chat::Conversation conversation;
  conversation.messages = chat::value_from_json(all + ']', "the conversation");
  conversation.add_generation_prompt = true;
  const chat::Rendered rendered = chat::render_conversation(*template_, special_tokens_, conversation, now());
  return model_.prompt(rendered.text, /*special_tokens=*/false, turns_++, "turn");
}

void ChatHistory::fit_answer(const generation::Prompt& turn, Json& settings) const {
  if (model_.config.max_new_tokens || model_.config.max_length) {
    require_room(model_, turn);
  } else {
    settings["max_new_tokens"] = longest_answer(model_, turn);
  }
}

bool ChatHistory::end_with_answer() {
  if (!messages_.empty() && messages_.back().role == "user") messages_.pop_back();
  return !messages_.empty() && messages_.back().role == "assistant";
}

Json ChatHistory::messages() const {
  Json all = Json::array();
  for (const Message& message : messages_)
    all.push_back({{"role", message.role}, {"content", message.content}});
  return all;
}

}  // namespace hftrain::app

#include "generate_chat.h"

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

// A conversation with a model, by the chat template of its tokenizer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generate_model.h"
#include "hftrain/chat/chat_template.h"

namespace hftrain::app {

class ChatHistory {
 public:
  // Errors (exit code 4): the folder has no template, or one that cannot be read.
  ChatHistory(const WritingModel& model, const GenerateFlags& flags);
  // What the user says next; gives what the model is to go on from: the conversation up to where it answers.
  generation::Prompt ask(const std::string& text);
  // Where nothing says how long answers may be, `settings` get the length of this one: as far as the model's positions
  // reach. Error (exit code 4): the conversation leaves no room for it.
  void fit_answer(const generation::Prompt& turn, Json& settings) const;
  void answered(const std::string& text) { messages_.push_back({"assistant", text}); }
  uint64_t turns() const { return turns_; }  // that began
  // Forgets a last question that has no answer; false where nothing was answered.
  bool end_with_answer();
  Json messages() const;

 private:
  struct Message {
    std::string role, content;
  };

  const WritingModel& model_;
  chat::Variables special_tokens_;
  std::optional<chat::ChatTemplate> template_;
  std::vector<Message> messages_;
  uint64_t turns_ = 0;
};

}  // namespace hftrain::app

// Instruction data prepared as a run does, with the tokenizer and the template of the golden file.
#pragma once

#include "hftrain/chat/value.h"
#include "task_fixture.h"

namespace hftrain::testing {

inline const Json& golden_instructions() {
  static const Json document = golden_document("instructions.json");
  return document;
}

struct InstructionFixture : TaskFixture {
  InstructionFixture()
      : TaskFixture(tasks::instruction_tuning(), golden_instructions().at("tokenizer"),
                    golden_instructions().at("config")) {
    input.chat = chat::TemplateFolder();
    use_template(golden_instructions().at("template").get<std::string>());
    for (const auto& [name, token] : golden_instructions().at("config").items())
      input.chat->special_tokens.emplace_back(name, chat::Value::text(token.get<std::string>()));
  }

  void use_template(const std::string& text) { input.chat->templates["default"] = {text, "the template"}; }
  void use_end(const std::string& token) {
    std::erase_if(input.chat->special_tokens, [](const auto& held) { return held.first == "eos_token"; });
    input.chat->special_tokens.emplace_back("eos_token", chat::Value::text(token));
  }
};

inline std::string lines_of(const Json& rows) {
  std::string text;
  for (const Json& row : rows) text += row.dump() + '\n';
  return text;
}

}  // namespace hftrain::testing

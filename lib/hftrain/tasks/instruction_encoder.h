// Instruction data to tokens, with what counts for the loss, as TRL's SFTTrainer makes them.
//
//   input_ids   a text or prompt and completion with the tokenizer's special tokens, an end of text behind them where
//               they do not end in one; a conversation by the chat template
//   labels      the same ids; -100 for those of a prompt (as far as they are those of the prompt alone, with the template's
//               opening of the answer) and, where that is asked for, of what the template does not mark as the assistant's
//   length      cut to `max_length` at the end that is asked for; what has no label left is left out
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "hftrain/data/encoder.h"
#include "hftrain/tasks/conversation_templates.h"

namespace hftrain::tasks {

inline constexpr const char* kLabelColumn = "labels";
inline constexpr int32_t kNoLabel = -100;

struct InstructionEncoding {
  std::shared_ptr<const ConversationTemplates> templates;
  std::optional<std::string> end_of_text;  // unset: the tokenizer has none, and texts are refused
  bool completion_only = true;             // where rows have a completion
  bool asked_for_completions = false;      // rows without one are then told of
  bool assistant_only = false;
  std::optional<int64_t> max_length;  // tokens; unset: nothing is cut or left out
  bool keeps_end = false;
  bool joins_rows = false;  // packed as one stream: the row before predicts a row's first token
};

std::unique_ptr<data::Encoder> instruction_encoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                                   InstructionEncoding encoding);

}  // namespace hftrain::tasks

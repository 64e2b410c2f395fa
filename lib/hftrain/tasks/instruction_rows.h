// The rows of instruction data: a conversation, a prompt with its completion, or a text. Which one a file has, its
// columns say, as in TRL:
//
//   prompt and completion        texts, or lists of messages
//   messages                     a list of {"role": …, "content": …}
//   conversations                a list of {"from": …, "value": …}
//   a text, by its column's name
//   input_ids                    token ids, before all others; with `labels`, or `completion_mask` and `assistant_masks`
//
// Beside messages a row may have `tools` (a list, or its JSON as text) and `chat_template_kwargs` (an object): names
// that the chat template sees.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/chat/conversation.h"
#include "hftrain/data/records.h"
#include "hftrain/data/row_source.h"

namespace hftrain::tasks {

// `text_field`: the column of texts. None of the columns above, a prompt without completion, preferences (chosen,
// rejected): Error (exit code 4).
data::ColumnRule instruction_columns(const std::string& text_field);

// A row, of which either the texts, the conversations or the tokens are set; the views live as long as the records.
struct Instruction {
  struct Talk {
    chat::Value messages, completion;  // completion: undefined in a row without one
    chat::Value tools = chat::Value(chat::None()), documents = chat::Value(chat::None());
    chat::Variables more;
  };
  struct Tokens {
    std::vector<int32_t> ids, labels;                  // labels: empty without such a column
    std::vector<int32_t> of_completion, of_assistant;  // 1: is; empty without such a column
  };
  std::optional<Talk> talk;
  std::optional<Tokens> tokens;
  std::string_view text, completion;
  bool has_completion = false;  // then `text` or the messages are the prompt
};

// Of records that were read by that rule. A value of another kind, no message, a message without a role, lists of tokens
// of different lengths, ids that are not below `vocabulary`: Error (exit code 4) with the place of the row.
Instruction instruction_of(const data::Records& records, size_t row, int64_t vocabulary);

}  // namespace hftrain::tasks

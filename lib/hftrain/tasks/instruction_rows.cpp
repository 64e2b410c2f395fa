#include "hftrain/tasks/instruction_rows.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/chat/dict.h"
#include "hftrain/chat/json_input.h"
#include "hftrain/tasks/chat_value.h"

namespace hftrain::tasks {
namespace {

using data::ValueKind;

enum InstructionColumn : size_t {
  kText,
  kPrompt,
  kCompletion,
  kMessages,
  kConversations,
  kTools,
  kNames,
  kTokens,
  kTokenLabels,
  kCompletionMask,
  kAssistantMask
};
constexpr size_t kInstructionColumns = 11;
constexpr int64_t kUncounted = -100;
constexpr const char* kToolsHint = "a list of JSON schemas, or its JSON as text";
constexpr const char* kMessageHint = R"({"messages": [{"role": "user", "content": "…"}, …]})";

std::vector<std::string> chosen_instructions(const std::vector<std::string>& names,
                                             const std::string& text_field) {
  const auto has = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string> chosen(kInstructionColumns);
  const auto take = [&](InstructionColumn column, const char* name) {
    if (has(name)) chosen[column] = name;
    return has(name);
  };
  if (take(kTokens, "input_ids")) {
    // As in TRL: labels stand as they are; masks count without them.
    if (take(kTokenLabels, "labels")) return chosen;
    take(kCompletionMask, "completion_mask");
    take(kAssistantMask, "assistant_masks");
    if (has("prompt") && has("completion")) take(kCompletion, "completion");
    return chosen;
  }
  take(kTools, "tools");
  take(kNames, "chat_template_kwargs");
  if (has("chosen") || has("rejected"))
    throw Error(ExitCode::kData, "these are preferences, which --task sft does not learn")
        .hint("another trainer's data: rows with messages, with prompt and completion, or with a text");
  if (take(kPrompt, "prompt")) {
    if (take(kCompletion, "completion")) return chosen;
    throw Error(ExitCode::kData, "there is a column 'prompt', but no column 'completion'")
        .hint(
            "write what is to be learnt beside it; reinforcement, which learns from prompts, is another "
            "trainer's");
  }
  if (take(kMessages, "messages") || take(kConversations, "conversations")) return chosen;
  if (has(text_field)) {
    chosen[kText] = text_field;
    return chosen;
  }
  throw Error(ExitCode::kData, "there are no columns of instruction data")
      .hint("messages, prompt and completion, or a text in '" + text_field +
            "' (--dataset_text_field names its column)");
}

Error bad_instruction(const data::Records& records, size_t row, const std::string& what,
                      const std::string& why, const std::string& hint) {
  return Error(ExitCode::kData, what).where(records.where(row)).why(why).hint(hint);
}

std::string it_is(const data::Value& value) {
  return std::string("it is ") + data::kind_name(value.kind());
}

void check_message(const data::Records& records, size_t row, const data::Value& message, size_t number,
                   const char* role) {
  const std::string which = "message " + std::to_string(number + 1) + " of a row";
  if (message.kind() != ValueKind::kObject)
    throw bad_instruction(records, row, which + " is no object with a role", it_is(message), kMessageHint);
  const auto held = message.find(role);
  if (!held || held->kind() != ValueKind::kText)
    throw bad_instruction(records, row, which + " has no " + role,
                          held ? "its " + std::string(role) + " is " + data::kind_name(held->kind())
                               : "there is no field '" + std::string(role) + "'",
                          "who says it, as the chat template knows it: system, user, assistant, …");
}

// {"from", "value"} as {"role", "content"}, which come last, as in TRL.
chat::Value renamed(const chat::Value& message) {
  auto named = std::make_shared<chat::Dict>();
  const auto& items = message.as_dict()->items();
  for (const auto& [key, value] : items) {
    const std::string& name = key.as_text()->bytes;
    if (name != "from" && name != "value") named->set(name, value);
  }
  for (const auto& [old, now] : {std::pair("from", "role"), std::pair("value", "content")}) {
    for (const auto& [key, value] : items) {
      if (key.as_text()->bytes == old) named->set(now, value);
    }
  }
  return chat::Value(chat::DictPtr(std::move(named)));
}

chat::Value messages_in(const data::Records& records, size_t row, const data::Value& list,
                        const char* column) {
  const std::string verb = std::string_view(column).ends_with('s') ? "are" : "is";
  if (list.kind() != ValueKind::kList)
    throw bad_instruction(records, row,
                          "the " + std::string(column) + " of a row " + verb + " no list of messages",
                          it_is(list), kMessageHint);
  if (list.size() == 0)
    throw bad_instruction(records, row, "the " + std::string(column) + " of a row " + verb + " empty",
                          "a conversation has one message at least", "leave the row out");
  const bool old = std::string_view(column) == "conversations";
  std::vector<chat::Value> messages;
  for (size_t i = 0; i < list.size(); ++i) {
    check_message(records, row, list[i], i, old ? "from" : "role");
    const chat::Value message = chat_value(list[i]);
    messages.push_back(old ? renamed(message) : message);
  }
  return chat::Value::list(std::move(messages));
}

chat::Value tools_of(const data::Records& records, size_t row) {
  const data::Value tools = records.value(row, kTools);
  if (tools.kind() == ValueKind::kText)
    return chat::value_from_json(tools.text(), records.where(row) + ", tools", kToolsHint);
  if (tools.kind() != ValueKind::kNull && tools.kind() != ValueKind::kList)
    throw bad_instruction(records, row, "the tools of a row are no list", it_is(tools), kToolsHint);
  return chat_value(tools);
}

// Arguments of apply_chat_template that say how a row is made, and are not seen by templates.
bool says_how(std::string_view name) {
  static constexpr std::array<std::string_view, 13> kArguments = {"conversation",
                                                                  "messages",
                                                                  "chat_template",
                                                                  "add_generation_prompt",
                                                                  "continue_final_message",
                                                                  "tokenize",
                                                                  "padding",
                                                                  "truncation",
                                                                  "max_length",
                                                                  "return_tensors",
                                                                  "tokenizer_kwargs",
                                                                  "return_dict",
                                                                  "return_assistant_tokens_mask"};
  return std::ranges::count(kArguments, name) > 0;
}

bool is_off(const data::Value& value) {
  return value.kind() == ValueKind::kNull || (value.kind() == ValueKind::kBoolean && !value.boolean());
}

// TRL hands them to apply_chat_template: tools and documents as its own, over a column's, all else to the template.
void take_names(const data::Records& records, size_t row, Instruction::Talk& talk) {
  const data::Value names = records.value(row, kNames);
  if (names.kind() == ValueKind::kNull) return;
  if (names.kind() != ValueKind::kObject)
    throw bad_instruction(records, row, "the chat_template_kwargs of a row are no object", it_is(names),
                          R"({"name": value, …}: names that the chat template sees)");
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name(names.key(i));
    const data::Value value = *names.find(names.key(i));
    if (name == "tools" || name == "documents") {
      if (value.kind() != ValueKind::kNull && value.kind() != ValueKind::kList)
        throw bad_instruction(records, row, "the " + name + " of a row are no list", it_is(value),
                              name == "tools" ? "a list of JSON schemas" : "a list of objects");
      (name == "tools" ? talk.tools : talk.documents) = chat_value(value);
    } else if (!says_how(name)) {
      talk.more.emplace_back(name, chat_value(value));
    } else if (!is_off(value)) {
      throw bad_instruction(records, row, "chat_template_kwargs of a row say '" + name + "'",
                            "it is no name that a template sees, and says how a row is made",
                            "leave it out; --chat_template_path, --max_length and the columns say that here");
    }
  }
}

std::string_view text_of(const data::Records& records, size_t row, const data::Value& value,
                         const std::string& which) {
  if (value.kind() == ValueKind::kText) return value.text();
  throw bad_instruction(records, row, "the " + which + " of a row is no string", it_is(value),
                        "write it as text");
}

Instruction pair_of(const data::Records& records, size_t row) {
  const data::Value prompt = records.value(row, kPrompt), completion = records.value(row, kCompletion);
  Instruction made{.has_completion = true};
  const bool talks = prompt.kind() == ValueKind::kList;
  if (talks != (completion.kind() == ValueKind::kList))
    throw bad_instruction(records, row, "prompt and completion of a row are of two kinds",
                          std::string("the prompt is ") + data::kind_name(prompt.kind()) +
                              ", the completion " + data::kind_name(completion.kind()),
                          "two texts, or two lists of messages");
  if (talks) {
    made.talk = Instruction::Talk{.messages = messages_in(records, row, prompt, "prompt"),
                                  .completion = messages_in(records, row, completion, "completion")};
  } else {
    made.text = text_of(records, row, prompt, "prompt");
    made.completion = text_of(records, row, completion, "completion");
  }
  return made;
}

// The list of a column, each number 0 to `most` or `other`; empty without the column.
std::vector<int32_t> whole_numbers(const data::Records& records, size_t row, InstructionColumn column,
                                   const char* name, int64_t most, int64_t other) {
  const data::Value list = records.value(row, column);
  std::vector<int32_t> made;
  if (list.kind() == ValueKind::kNull) return made;
  if (list.kind() != ValueKind::kList)
    throw bad_instruction(records, row, "the " + std::string(name) + " of a row are no list", it_is(list),
                          "a list of whole numbers");
  made.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const data::Value value = list[i];
    if (most == 1 && value.kind() == ValueKind::kBoolean) {  // of a mask
      made.push_back(value.boolean() ? 1 : 0);
      continue;
    }
    const bool whole = value.kind() == ValueKind::kInteger;
    if (whole && ((value.integer() >= 0 && value.integer() <= most) || value.integer() == other)) {
      made.push_back(static_cast<int32_t>(value.integer()));
      continue;
    }
    throw bad_instruction(
        records, row, "number " + std::to_string(i + 1) + " of the " + name + " of a row does not fit",
        whole ? "it is " + std::to_string(value.integer()) + "; 0 to " + std::to_string(most) +
                    (other < 0 ? " and " + std::to_string(other) : "") + " are known"
              : it_is(value),
        most == 1 ? "0 or 1 for each token" : "ids of this run's tokenizer, which --tokenizer_name names");
  }
  return made;
}

Instruction::Tokens tokens_of(const data::Records& records, size_t row, int64_t vocabulary) {
  const auto read = [&](InstructionColumn column, const char* name, int64_t most, int64_t other) {
    return whole_numbers(records, row, column, name, most, other);
  };
  Instruction::Tokens made{.ids = read(kTokens, "input_ids", vocabulary - 1, 0),
                           .labels = read(kTokenLabels, "labels", vocabulary - 1, kUncounted),
                           .of_completion = read(kCompletionMask, "completion_mask", 1, 0),
                           .of_assistant = read(kAssistantMask, "assistant_masks", 1, 0)};
  using Column = std::tuple<InstructionColumn, const char*, const std::vector<int32_t>*>;
  for (const auto& [column, name, list] : {Column{kTokenLabels, "labels", &made.labels},
                                           Column{kCompletionMask, "completion_mask", &made.of_completion},
                                           Column{kAssistantMask, "assistant_masks", &made.of_assistant}}) {
    if (records.value(row, column).kind() == ValueKind::kNull || list->size() == made.ids.size()) continue;
    throw bad_instruction(
        records, row, "the " + std::string(name) + " of a row are not as many as its input_ids",
        std::to_string(list->size()) + " for " + std::to_string(made.ids.size()) + " tokens",
        "one number for each token");
  }
  if (made.ids.empty())
    throw bad_instruction(records, row, "the input_ids of a row are empty",
                          "there is nothing to learn from it", "leave the row out");
  return made;
}

}  // namespace

data::ColumnRule instruction_columns(const std::string& text_field) {
  return {
      .columns = kInstructionColumns,
      .choose = [=](const std::vector<std::string>& names) { return chosen_instructions(names, text_field); },
      .text_only = false,
      .of_some_records = {{kTools, "tools"}, {kNames, "chat_template_kwargs"}},
      .never_null = {kText, kPrompt, kCompletion, kMessages, kConversations, kTokens, kTokenLabels,
                     kCompletionMask, kAssistantMask}};
}

Instruction instruction_of(const data::Records& records, size_t row, int64_t vocabulary) {
  Instruction made;
  if (records.value(row, kTokens).kind() != ValueKind::kNull) {
    made.tokens = tokens_of(records, row, vocabulary);
    made.has_completion = records.value(row, kCompletion).kind() != ValueKind::kNull;
    return made;
  }
  const data::Value messages = records.value(row, kMessages), old = records.value(row, kConversations);
  if (records.value(row, kPrompt).kind() != ValueKind::kNull) {
    made = pair_of(records, row);
  } else if (messages.kind() != ValueKind::kNull) {
    made.talk = Instruction::Talk{.messages = messages_in(records, row, messages, "messages")};
  } else if (old.kind() != ValueKind::kNull) {
    made.talk = Instruction::Talk{.messages = messages_in(records, row, old, "conversations")};
  } else {
    made.text = text_of(records, row, records.value(row, kText), "text");
  }
  if (made.talk) {
    made.talk->tools = tools_of(records, row);
    take_names(records, row, *made.talk);
  }
  return made;
}

}  // namespace hftrain::tasks

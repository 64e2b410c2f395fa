#include "hftrain/tasks/instruction_encoder.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/tasks/instruction_rows.h"

namespace hftrain::tasks {
namespace {

struct TokenizedInstruction {
  std::vector<int32_t> ids;
  std::vector<uint8_t> counts;  // 1: for the loss
  std::vector<int32_t> labels;  // where they are not the ids; else empty
};

chat::Value joined_messages(const chat::Value& first, const chat::Value& second) {
  std::vector<chat::Value> all = first.as_sequence()->items;
  const std::vector<chat::Value>& more = second.as_sequence()->items;
  all.insert(all.end(), more.begin(), more.end());
  return chat::Value::list(std::move(all));
}

class InstructionEncoder final : public data::Encoder {
 public:
  InstructionEncoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, InstructionEncoding encoding)
      : tokenizer_(std::move(tokenizer)), encoding_(std::move(encoding)), ends_(tokenizer_->special_ids()) {
    const auto end = encoding_.end_of_text ? tokenizer_->token_to_id(*encoding_.end_of_text) : std::nullopt;
    if (end) ends_.push_back(*end);
  }

  data::FeatureSchema schema() const override {
    return {{data::kInputIds, data::FeatureType::kTokenIds}, {kLabelColumn, data::FeatureType::kInteger}};
  }

  void encode(const data::Records& records, data::Features& features) const override {
    for (size_t row = 0; row < records.rows(); ++row) {
      TokenizedInstruction tokens = tokens_of(records, row);
      cut(tokens);
      const bool teaches = std::find(tokens.counts.begin(), tokens.counts.end(), 1) != tokens.counts.end();
      if (encoding_.max_length && !teaches) {
        ++left_out_;
        continue;
      }
      // Nothing predicts the first token of a row that stands alone.
      const bool learns = teaches && std::find(tokens.counts.begin() + (encoding_.joins_rows ? 0 : 1),
                                               tokens.counts.end(), 1) != tokens.counts.end();
      ++(learns ? teaching_ : untaught_);
      features.columns[0].add_sequence(tokens.ids);
      std::vector<int32_t>& labels = tokens.labels.empty() ? tokens.ids : tokens.labels;
      for (size_t i = 0; i < labels.size(); ++i) {
        if (tokens.counts[i] == 0) labels[i] = kNoLabel;
      }
      features.columns[1].add_sequence(labels);
    }
  }

  std::vector<data::Remark> remarks() const override {
    std::vector<data::Remark> made;
    const auto tell = [&](int64_t rows, const char* one, const char* several) {
      if (rows > 0) made.push_back({several, with_thousands(rows) + (rows == 1 ? one : several)});
    };
    tell(left_out_, " row is left out: nothing that counts for the loss is left of it within --max_length",
         " rows are left out: nothing that counts for the loss is left of them within --max_length");
    tell(untaught_, " row has no token that counts for the loss: nothing is learnt from it",
         " rows have no token that counts for the loss: nothing is learnt from them");
    tell(uneven_,
         " prompt is cut into other tokens alone than before its completion: the loss begins where they part",
         " prompts are cut into other tokens alone than before their completions: the loss begins where they "
         "part");
    if (unmarked_ > 0)
      made.push_back(
          {"no marks",
           "the chat template marks nothing with {% generation %}: what it writes behind its opening of an "
           "answer counts as the assistant's"});
    if (unended_ > 0 && ended_ == 0)
      made.push_back({"no end",
                      "of what counts as the assistant's no token ends an answer: the model may not learn to "
                      "stop. {% generation %} is to hold the end of a turn, too, and that a special token or "
                      "the end of text"});
    if (encoding_.asked_for_completions)
      tell(without_completion_, " row has no completion: --completion_only_loss has no effect on it",
           " rows have no completion: --completion_only_loss has no effect on them");
    return made;
  }

  void check_all() const override {
    if (untaught_ == 0 || teaching_ > 0) return;
    throw Error(ExitCode::kData, "no row has a token that counts for the loss")
        .why(
            "every label is -100, by `labels`, by the masks of the rows, because completions are empty, or "
            "rows are single "
            "tokens, which nothing stands before")
        .hint(
            "see whether labels and masks are the right way round: 1 counts in a mask, -100 does not in "
            "labels; or a larger --max_length");
  }

 private:
  TokenizedInstruction tokens_of(const data::Records& records, size_t row) const {
    const Instruction instruction = instruction_of(records, row, tokenizer_->vocab_size());
    const bool tells =
        instruction.has_completion || (instruction.tokens && !instruction.tokens->of_completion.empty());
    if (!tells) ++without_completion_;
    try {
      if (instruction.tokens) return made_of(*instruction.tokens, instruction.has_completion);
      return instruction.talk ? tokens_of_talk(instruction) : tokens_of_text(instruction);
    } catch (const Error& error) {
      throw in_row(error, records.where(row));
    }
  }

  // The place of a template's mistake is in the template, and what makes it one is the row.
  static Error in_row(const Error& error, const std::string& where) {
    const Diagnostic& told = error.diagnostics().front();
    std::string why = told.why;
    if (!told.where.empty()) why += (why.empty() ? "" : ", ") + std::string("at ") + told.where;
    return Error(error.code(), told.what)
        .where(where)
        .why(why)
        .hint(told.hint.empty() ? "mend the row, or name another template with --chat_template_path"
                                : told.hint);
  }

  // Rows of tokens: labels stand as they are, masks of the assistant count whatever the flags say, those of completions
  // where completions are asked for or the row has them in words, too.
  TokenizedInstruction made_of(const Instruction::Tokens& tokens, bool has_completion) const {
    if (encoding_.assistant_only)
      throw Error(ExitCode::kData, "a row is of tokens, and no conversation")
          .why("--assistant_only_loss is of conversations")
          .hint("leave it out: assistant_masks, where rows have them, count without it");
    TokenizedInstruction made{.ids = tokens.ids, .counts = {}, .labels = tokens.labels};
    made.counts.assign(made.ids.size(), 1);
    const auto keep = [&](const std::vector<int32_t>& wanted, int32_t uncounted) {
      for (size_t i = 0; i < wanted.size(); ++i)
        made.counts[i] = made.counts[i] != 0 && wanted[i] != uncounted;
    };
    keep(tokens.labels, kNoLabel);
    keep(tokens.of_assistant, 0);
    if (encoding_.completion_only && (encoding_.asked_for_completions || has_completion))
      keep(tokens.of_completion, 0);
    return made;
  }

  TokenizedInstruction tokens_of_text(const Instruction& instruction) const {
    if (encoding_.assistant_only)
      throw Error(ExitCode::kData, "a row is a text, and nobody says what in it is the assistant's")
          .why("--assistant_only_loss is of conversations")
          .hint("messages instead, or leave --assistant_only_loss out");
    if (!encoding_.end_of_text)
      throw Error(ExitCode::kData, "the tokenizer has no end of text")
          .why("texts and completions end with it, so that the model learns to stop")
          .hint("--eos_token TOKEN, one of its vocabulary");
    std::string text(instruction.text);
    text += instruction.completion;
    const std::string_view ends = instruction.has_completion ? instruction.completion : instruction.text;
    if (!ends.ends_with(*encoding_.end_of_text)) text += *encoding_.end_of_text;
    TokenizedInstruction made;
    tokenizer_->encode_into(text, true, made.ids);
    made.counts.assign(made.ids.size(), 1);
    if (!instruction.has_completion) return made;
    std::vector<int32_t> prompt;
    tokenizer_->encode_into(instruction.text, true, prompt);
    mark_completion(prompt, made);
    return made;
  }

  TokenizedInstruction tokens_of_talk(const Instruction& instruction) const {
    const Instruction::Talk& talk = *instruction.talk;
    chat::Conversation conversation{
        .messages = talk.messages, .tools = talk.tools, .documents = talk.documents, .more = talk.more};
    std::vector<int32_t> prompt;
    if (instruction.has_completion) {
      conversation.add_generation_prompt = true;
      prompt = encoding_.templates->encode(conversation, *tokenizer_).ids;
      conversation.add_generation_prompt = false;
      conversation.messages = joined_messages(talk.messages, talk.completion);
    }
    chat::EncodedConversation whole = whole_of(conversation);
    TokenizedInstruction made{.ids = std::move(whole.ids), .counts = {}, .labels = {}};
    made.counts.assign(made.ids.size(), 1);
    if (instruction.has_completion) mark_completion(prompt, made);
    if (!encoding_.assistant_only) return made;
    keep_assistant(whole.assistant, made.counts);
    ++(ends_in(made.ids, whole.assistant) ? ended_ : unended_);
    return made;
  }

  chat::EncodedConversation whole_of(const chat::Conversation& conversation) const {
    if (!encoding_.assistant_only) return encoding_.templates->encode(conversation, *tokenizer_);
    if (!encoding_.templates->marks(conversation)) ++unmarked_;
    return encoding_.templates->encode_with_answers(conversation, *tokenizer_);
  }

  // A completion begins where the tokens of the prompt alone and those of the whole row part, which need not be where the
  // prompt ends.
  void mark_completion(const std::vector<int32_t>& prompt, TokenizedInstruction& whole) const {
    const auto parted = std::mismatch(prompt.begin(), prompt.end(), whole.ids.begin(), whole.ids.end());
    if (parted.first != prompt.end()) ++uneven_;
    if (encoding_.completion_only)
      std::fill(whole.counts.begin(), whole.counts.begin() + (parted.first - prompt.begin()), 0);
  }

  // Whether an end is in the last of what the assistant says; a line end may stand behind it.
  bool ends_in(const std::vector<int32_t>& ids, const std::vector<uint8_t>& assistant) const {
    size_t at = ids.size();
    while (at > 0 && assistant[at - 1] == 0) --at;
    for (; at > 0 && assistant[at - 1] != 0; --at) {
      if (std::find(ends_.begin(), ends_.end(), ids[at - 1]) != ends_.end()) return true;
    }
    return false;
  }

  static void keep_assistant(const std::vector<uint8_t>& assistant, std::vector<uint8_t>& counts) {
    if (std::find(assistant.begin(), assistant.end(), 1) == assistant.end())
      throw Error(ExitCode::kData, "nothing of a row is marked as the assistant's")
          .why(
              "--assistant_only_loss counts what the chat template marks with {% generation %}, or writes "
              "behind its "
              "opening of an answer")
          .hint("a conversation in which the assistant speaks, or a template that marks what it says");
    for (size_t i = 0; i < counts.size(); ++i) counts[i] = counts[i] != 0 && assistant[i] != 0;
  }

  void cut(TokenizedInstruction& tokens) const {
    const size_t limit = static_cast<size_t>(encoding_.max_length.value_or(0));
    if (!encoding_.max_length || tokens.ids.size() <= limit) return;
    const auto cut_one = [&](auto& values) {
      if (encoding_.keeps_end)
        values.erase(values.begin(), values.end() - static_cast<std::ptrdiff_t>(limit));
      values.resize(limit);
    };
    cut_one(tokens.ids);
    cut_one(tokens.counts);
    if (!tokens.labels.empty()) cut_one(tokens.labels);
  }

  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
  InstructionEncoding encoding_;
  std::vector<tokenizer::TokenId> ends_;  // tokens that may end an answer
  // Rows, for remarks.
  mutable std::atomic<int64_t> left_out_ = 0, uneven_ = 0, without_completion_ = 0, teaching_ = 0,
                               untaught_ = 0, unmarked_ = 0, ended_ = 0, unended_ = 0;
};

}  // namespace

std::unique_ptr<data::Encoder> instruction_encoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                                   InstructionEncoding encoding) {
  return std::make_unique<InstructionEncoder>(std::move(tokenizer), std::move(encoding));
}

}  // namespace hftrain::tasks

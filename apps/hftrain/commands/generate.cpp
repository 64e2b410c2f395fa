// hftrain generate --model_name_or_path DIR [--prompt TEXT… | --prompt_file FILE] [--json] [--chat] [settings]
#include <unistd.h>

#include <iostream>
#include <optional>
#include <utility>

#include "command.h"
#include "generate_chat.h"
#include "generate_flags.h"
#include "generate_model.h"
#include "generate_notes.h"
#include "generate_output.h"
#include "generate_prompts.h"
#include "hftrain/base/error.h"
#include "hftrain/base/printable.h"
#include "launcher/front/stoppable_output.h"
#include "launcher/front/text_worker.h"

namespace hftrain::app {
namespace {

using front::TextWorker;
using generation::TextRequest;

struct Session {
  const CommandContext& context;
  const GenerateFlags& flags;
  const WritingModel& model;
  TextWorker& worker;
  std::ostream& out;
  bool streams = false;

  TextRequest request() const { return {{}, model.settings, static_cast<uint64_t>(flags.seed), streams}; }
};

// Whether texts are shown as they are written.
bool streams(const CommandContext& context, const GenerateFlags& flags, const WritingModel& model) {
  const generation::GenerationConfig& config = model.config;
  const bool one = config.num_return_sequences == 1 && config.num_beams == 1;
  if (one || !flags.stream.value_or(false))
    return one && !flags.json && flags.stream.value_or(context.out_is_terminal);
  const bool beams = config.num_beams > 1;
  const std::string setting = beams ? "num_beams" : "num_return_sequences";
  const std::string value = std::to_string(beams ? config.num_beams : config.num_return_sequences);
  throw Error(ExitCode::kUsage, beams ? "beams cannot be shown as they are written"
                                      : "several texts for a prompt cannot be shown as they are written")
      .where("--stream")
      .why(setting + " is " + value +
           (flags.settings.contains(setting) ? "" : " in " + model.settings_origin) +
           (beams ? ", and which beam wins is known at the end" : ", and they are written at the same time"))
      .hint("--" + setting + " 1, or leave --stream out");
}

void require_one_answer(const GenerateFlags& flags, const WritingModel& model) {
  const int64_t answers = model.config.num_return_sequences;
  if (!flags.chat || answers == 1) return;
  throw Error(ExitCode::kUsage, "a chat goes on from one answer to each turn")
      .where("--chat")
      .why("num_return_sequences is " + std::to_string(answers) +
           (flags.settings.contains("num_return_sequences") ? "" : " in " + model.settings_origin))
      .hint("--num_return_sequences 1");
}

// All that are there, at least one and not more than a batch; empty at the end.
std::vector<WrittenPrompt> next_batch(const Session& session, PromptSource& source, uint64_t number) {
  std::vector<WrittenPrompt> batch;
  const auto size = static_cast<size_t>(session.flags.batch_size);
  while (batch.size() < size && (batch.empty() || source.has_one())) {
    const auto text = source.next();
    if (!text) break;
    batch.push_back({*text, session.model.prompt(*text, /*special_tokens=*/true, number + batch.size()), {}});
  }
  return batch;
}

void print_texts(const Session& session, const WrittenPrompt& prompt) {
  for (const generation::GeneratedText& text : prompt.texts) {
    const std::string words = session.model.text_of(text.ids);
    session.out << (session.context.out_is_terminal ? printable(words, Lines::kMany) : words) << '\n';
  }
  session.out.flush();
}

void write_batch(const Session& session, std::span<WrittenPrompt> batch, TextRequest request) {
  for (const WrittenPrompt& each : batch) request.prompts.push_back(each.prompt);
  StreamedBatch shown(session.model, session.out, session.context.out_is_terminal, batch.size());
  generation::Texts texts =
      session.worker.write(request, [&](size_t prompt, int64_t id) { shown.add(prompt, id); });
  if (session.streams) shown.finish();
  for (size_t i = 0; i < batch.size(); ++i) {
    batch[i].texts = std::move(texts.at(i));
    if (!session.streams && !session.flags.json) print_texts(session, batch[i]);
  }
}

Error no_prompt(const PromptSource& source) {
  return Error(ExitCode::kUsage, "there is no prompt")
      .where(source.name())
      .why("it ended before a first line")
      .hint("--prompt TEXT, or a text per line");
}

// Whoever keeps a pipe open gets answers as lines come; nothing is held of what was answered.
void continue_prompts(const Session& session, PromptSource& source) {
  if (source.asks()) session.context.err << "a prompt per line; Ctrl-D ends them" << std::endl;
  GenerationsJson document(session.model, session.out);
  uint64_t number = 0;
  while (true) {
    std::vector<WrittenPrompt> batch = next_batch(session, source, number);
    if (batch.empty()) break;
    write_batch(session, batch, session.request());
    if (session.flags.json) document.add(batch);
    number += batch.size();
  }
  if (number == 0) throw no_prompt(source);
  if (session.flags.json)
    document.finish(session.worker.seconds(), session.worker.steps(), session.worker.draft_steps());
}

// Of a chat, without a line where it ends. Ctrl-C is a way to leave who asks for one, and no mistake.
struct Turn {
  std::optional<std::string> line;
  ExitCode end = ExitCode::kDone;
};

Turn next_turn(PromptSource& source, bool asks) {
  try {
    return {source.next()};
  } catch (const Error& error) {
    if (!asks || error.code() != ExitCode::kInterrupted) throw;
    return {std::nullopt, ExitCode::kInterrupted};
  }
}

// One turn; with how the chat ends where it does.
std::optional<ExitCode> take_turn(const Session& session, ChatHistory& history, PromptSource& source,
                                  bool asks) {
  if (asks) session.context.err << "> " << std::flush;
  const auto [line, end] = next_turn(source, asks);
  if (!line) return end;
  if (line->empty() && asks) return std::nullopt;
  std::vector<WrittenPrompt> turn = {{*line, history.ask(*line), {}}};
  TextRequest request = session.request();
  history.fit_answer(turn.front().prompt, request.settings);
  write_batch(session, turn, std::move(request));
  history.answered(session.model.text_of(turn.front().texts.front().ids));
  return std::nullopt;
}

void print_conversation(const Session& session, const ChatHistory& history) {
  if (!session.flags.json) return;
  session.out << dump_json({{"schema", 1}, {"model", session.model.folder}, {"messages", history.messages()}})
              << std::endl;
}

ExitCode converse(const Session& session, ChatHistory& history, PromptSource& source) {
  const bool asks = source.asks();
  if (asks) session.context.err << "a chat; Ctrl-D ends it" << std::endl;
  std::optional<ExitCode> end;
  try {
    while (!end) end = take_turn(session, history, source, asks);
  } catch (const Error&) {  // of this turn: what was said before it is not lost
    if (history.end_with_answer()) print_conversation(session, history);
    throw;
  }
  if (asks) session.context.err << std::endl;
  if (history.turns() == 0 && !asks) throw no_prompt(source);
  print_conversation(session, history);
  return *end;
}

}  // namespace

ExitCode run_generate(const CommandContext& context) {
  const std::optional<GenerateFlags> flags = read_generate_flags(context);
  if (!flags) return ExitCode::kDone;
  launcher::StopSignals stops;
  PromptSource source(*flags, stops);
  const WritingModel model = open_writing_model(*flags, context.environment);
  std::optional<ChatHistory> history;
  if (flags->chat) history.emplace(model, *flags);
  const generation::TextSetup setup = setup_of(model, *flags, context.environment);
  note_idle_settings(*flags, model, setup, context.err);
  warn_of_unread_threads(context.environment, context.err);
  require_one_answer(*flags, model);
  const bool as_they_come = streams(context, *flags, model);
  TextWorker worker(context.program, context.environment, setup, stops);
  context.out.flush();
  front::StoppableOutput written(STDOUT_FILENO, stops);
  std::ostream out(&written);
  out.exceptions(std::ios::badbit);
  const Session session{context, *flags, model, worker, out, as_they_come};
  if (history) return converse(session, *history, source);
  continue_prompts(session, source);
  return ExitCode::kDone;
}

}  // namespace hftrain::app

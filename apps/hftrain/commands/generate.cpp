// hftrain generate --model_name_or_path DIR [--prompt TEXT… | --prompt_file FILE] [--json] [--chat] [settings]
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "command.h"
#include "generate_chat.h"
#include "generate_flags.h"
#include "generate_model.h"
#include "generate_output.h"
#include "hftrain/base/error.h"
#include "hftrain/base/printable.h"
#include "launcher/front/stoppable_lines.h"
#include "launcher/front/text_worker.h"

namespace hftrain::app {
namespace {

using front::StoppableLines;
using front::TextWorker;
using generation::TextRequest;

// Where prompts come from, one after the other.
class PromptSource {
 public:
  PromptSource(const GenerateFlags& flags, launcher::StopSignals& stops) : flags_(flags) {
    if (!flags.prompts.empty()) return;
    if (!flags.prompt_file.empty()) {
      file_.reset(::open(flags.prompt_file.c_str(), O_RDONLY | O_CLOEXEC));
      if (!file_) throw system_error(errno, "cannot read the prompts", flags.prompt_file, ExitCode::kData);
    }
    lines_.emplace(file_ ? file_.get() : STDIN_FILENO, stops);
  }
  std::optional<std::string> next() {
    if (lines_) return lines_->next(flags_.prompt_file.empty() ? "standard input" : flags_.prompt_file);
    if (used_ == flags_.prompts.size()) return std::nullopt;
    return flags_.prompts[used_++];
  }
  // Somebody types them.
  bool asks() const { return lines_ && !file_ && ::isatty(STDIN_FILENO) == 1; }

 private:
  const GenerateFlags& flags_;
  FileDescriptor file_;
  std::optional<StoppableLines> lines_;
  size_t used_ = 0;
};

struct Session {
  const CommandContext& context;
  const GenerateFlags& flags;
  const WritingModel& model;
  TextWorker& worker;
  bool streams = false;

  TextRequest request() const { return {{}, model.settings, static_cast<uint64_t>(flags.seed), streams}; }
};

bool streams(const CommandContext& context, const GenerateFlags& flags, const WritingModel& model) {
  if (flags.json) return false;
  const bool one = model.config.num_return_sequences == 1 && model.config.num_beams == 1;
  return one && flags.stream.value_or(context.out_is_terminal);
}

std::vector<WrittenPrompt> read_prompts(PromptSource& source, const WritingModel& model,
                                        const GenerateFlags& flags) {
  std::vector<WrittenPrompt> prompts;
  while (const auto text = source.next()) {
    const uint64_t number = prompts.size();
    prompts.push_back({*text, model.prompt(*text, /*special_tokens=*/true, number), {}});
  }
  if (!prompts.empty()) return prompts;
  throw Error(ExitCode::kUsage, "there is no prompt")
      .where(flags.prompt_file.empty() ? "standard input" : "--prompt_file " + flags.prompt_file)
      .why("it ended before a first line")
      .hint("--prompt TEXT, or a text per line");
}

void print_texts(const Session& session, const WrittenPrompt& prompt) {
  for (const generation::GeneratedText& text : prompt.texts) {
    const std::string words = session.model.text_of(text.ids);
    session.context.out << (session.context.out_is_terminal ? printable(words, Lines::kMany) : words) << '\n';
  }
  session.context.out.flush();
}

void write_batch(const Session& session, std::span<WrittenPrompt> batch) {
  TextRequest request = session.request();
  for (const WrittenPrompt& each : batch) request.prompts.push_back(each.prompt);
  StreamedBatch shown(session.model, session.context.out, session.context.out_is_terminal, batch.size());
  generation::Texts texts =
      session.worker.write(request, [&](size_t prompt, int64_t id) { shown.add(prompt, id); });
  if (session.streams) shown.finish();
  for (size_t i = 0; i < batch.size(); ++i) {
    batch[i].texts = std::move(texts.at(i));
    if (!session.streams && !session.flags.json) print_texts(session, batch[i]);
  }
}

void continue_prompts(const Session& session, PromptSource& source) {
  if (source.asks()) session.context.err << "a prompt per line; Ctrl-D ends them" << std::endl;
  std::vector<WrittenPrompt> prompts = read_prompts(source, session.model, session.flags);
  const auto size = static_cast<size_t>(session.flags.batch_size);
  for (size_t first = 0; first < prompts.size(); first += size)
    write_batch(session, std::span(prompts).subspan(first, std::min(size, prompts.size() - first)));
  if (!session.flags.json) return;
  Json document = generations_json(session.model, prompts);
  document["seconds"] = session.worker.seconds();
  session.context.out << dump_json(document) << std::endl;
}

void converse(const Session& session, ChatHistory& history, PromptSource& source) {
  const CommandContext& context = session.context;
  const bool asks = source.asks();
  if (asks) context.err << "a chat; Ctrl-D ends it" << std::endl;
  while (true) {
    if (asks) context.err << "> " << std::flush;
    const auto line = source.next();
    if (!line) break;
    if (line->empty() && asks) continue;
    std::vector<WrittenPrompt> turn = {{*line, history.ask(*line), {}}};
    write_batch(session, turn);
    history.answered(session.model.text_of(turn.front().texts.front().ids));
  }
  if (asks) context.err << std::endl;
  if (session.flags.json)
    context.out << dump_json(
                       {{"schema", 1}, {"model", session.model.folder}, {"messages", history.messages()}})
                << std::endl;
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
  TextWorker worker(context.program, context.environment, setup_of(model, *flags, context.environment),
                    stops);
  const Session session{context, *flags, model, worker, streams(context, *flags, model)};
  if (history) {
    converse(session, *history, source);
  } else {
    continue_prompts(session, source);
  }
  return ExitCode::kDone;
}

}  // namespace hftrain::app

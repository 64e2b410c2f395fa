#include "generate_output.h"

#include <algorithm>
#include <ostream>
#include <set>
#include <utility>

#include "hftrain/base/printable.h"

namespace hftrain::app {
namespace {

// Tokens that spell a character byte by byte, where the tokenizer has such.
std::function<bool(int64_t)> byte_tokens(const tokenizer::Tokenizer& tokenizer) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::set<int64_t> ids;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name = std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + '>';
    if (const auto id = tokenizer.token_to_id(name)) ids.insert(*id);
  }
  if (ids.empty()) return {};
  return [ids = std::move(ids)](int64_t id) { return ids.contains(id); };
}

}  // namespace

PrintedText::PrintedText(const WritingModel& model, std::ostream& out, bool escapes)
    : text_([&model](std::span<const int64_t> ids) { return model.text_of(ids); },
            byte_tokens(*model.tokenizer)),
      out_(out),
      escapes_(escapes) {}

void PrintedText::print(const std::string& text) {
  if (text.empty()) return;
  out_ << (escapes_ ? printable(text, Lines::kMany) : text) << std::flush;
}

void PrintedText::add(int64_t token) {
  print(text_.add(token));
}

void PrintedText::finish() {
  print(text_.finish());
  out_ << std::endl;
}

StreamedBatch::StreamedBatch(const WritingModel& model, std::ostream& out, bool escapes, size_t prompts)
    : model_(model), out_(out), escapes_(escapes), waiting_(prompts), in_step_(prompts, true) {
  text_ = std::make_unique<PrintedText>(model, out, escapes);
}

void StreamedBatch::show_next() {
  text_->finish();
  ++shown_;
  if (shown_ == waiting_.size()) return;
  text_ = std::make_unique<PrintedText>(model_, out_, escapes_);
  for (const int64_t token : waiting_[shown_]) text_->add(token);
}

void StreamedBatch::add(size_t prompt, int64_t token) {
  if (prompt <= last_) {  // the step before is over: who got nothing in it is complete
    while (shown_ < waiting_.size() && !in_step_[shown_]) show_next();
    in_step_.assign(in_step_.size(), false);
  }
  last_ = prompt;
  in_step_.at(prompt) = true;
  if (prompt == shown_) {
    text_->add(token);
  } else {
    waiting_[prompt].push_back(token);
  }
}

void StreamedBatch::finish() {
  while (shown_ < waiting_.size()) show_next();
}

GenerationsJson::GenerationsJson(const WritingModel& model, std::ostream& out) : model_(model), out_(out) {}

void GenerationsJson::add(const std::vector<WrittenPrompt>& written) {
  for (const WrittenPrompt& one : written) {
    const bool encodes = model_.architecture->has_encoder_and_decoder();
    for (size_t sequence = 0; sequence < one.texts.size(); ++sequence) {
      const generation::GeneratedText& text = one.texts[sequence];
      Json entry = {{"prompt", one.text},
                    {"prompt_ids", encodes ? one.prompt.encoder_ids : one.prompt.ids},
                    {"sequence", sequence},
                    {"text", model_.text_of(text.ids)},
                    {"ids", text.ids}};
      if (model_.config.num_beams > 1) entry["score"] = text.score;
      out_ << (empty_ ? "{\n  \"schema\": 1,\n  \"model\": " + dump_json(model_.folder) +
                            ",\n  \"generations\": [\n"
                      : ",\n")
           << "    " << dump_json(entry, -1);
      empty_ = false;
    }
  }
  out_.flush();
}

void GenerationsJson::finish(double seconds, int64_t steps, int64_t draft_steps) {
  out_ << "\n  ],\n  \"seconds\": " << dump_json(seconds) << ",\n  \"steps\": " << steps
       << ",\n  \"draft_steps\": " << draft_steps << "\n}" << std::endl;
}

}  // namespace hftrain::app

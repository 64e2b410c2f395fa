// What `hftrain generate` prints: texts in the order of their prompts, as they come or when they are there, or one object.
#pragma once

#include <iosfwd>
#include <memory>
#include <vector>

#include "generate_model.h"
#include "hftrain/generation/streamed_text.h"

namespace hftrain::app {

// For one text as it comes: what of it is printed is final. `escapes`: for a terminal, which the text must not control.
class PrintedText {
 public:
  PrintedText(const WritingModel& model, std::ostream& out, bool escapes);
  void add(int64_t token);
  void finish();  // and a new line

 private:
  void print(const std::string& text);

  generation::StreamedText text_;
  std::ostream& out_;
  bool escapes_;
};

// Texts of a batch as their tokens come, in the order of prompts: those behind the first that is not complete wait. Tokens
// come step by step, in each for the prompts that are not complete, in their order.
class StreamedBatch {
 public:
  StreamedBatch(const WritingModel& model, std::ostream& out, bool escapes, size_t prompts);
  void add(size_t prompt, int64_t token);
  // All tokens have come.
  void finish();

 private:
  void show_next();

  const WritingModel& model_;
  std::ostream& out_;
  bool escapes_;
  std::vector<generation::Ids> waiting_;  // tokens of prompts that are not shown yet
  std::vector<bool> in_step_;
  size_t shown_ = 0, last_ = 0;
  std::unique_ptr<PrintedText> text_;  // of the prompt that is shown
};

struct WrittenPrompt {
  std::string text;
  generation::Prompt prompt;
  std::vector<generation::GeneratedText> texts;
};

// {schema, model, generations: [{prompt, prompt_ids, sequence, text, ids, score of beams}], seconds, steps, draft_steps}: one object, an entry
// for each text, written as texts come, so that any number of them may.
class GenerationsJson {
 public:
  GenerationsJson(const WritingModel& model, std::ostream& out);
  void add(const std::vector<WrittenPrompt>& written);
  // After at least one text. `seconds`: of generating. `steps`: calls of the model; `draft_steps`: of its copies.
  void finish(double seconds, int64_t steps, int64_t draft_steps);

 private:
  const WritingModel& model_;
  std::ostream& out_;
  bool empty_ = true;
};

}  // namespace hftrain::app

// A chat template: the Jinja text that comes with a tokenizer and makes one text of a conversation, as transformers renders
// it (ImmutableSandboxedEnvironment with trim_blocks, lstrip_blocks, loop controls and generation marks). What published
// templates use is here; anything else is refused, with its line and column. Rendering is bounded in time, memory and depth.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

// Names that the template sees: messages, tools, documents, add_generation_prompt, bos_token and the like.
using Variables = std::vector<std::pair<std::string, Value>>;

// [begin, end), in characters.
struct CharacterRange {
  int64_t begin = 0, end = 0;
  bool operator==(const CharacterRange&) const = default;
};

struct Rendered {
  std::string text;
  // What the template marks as an assistant's with {% generation %}. As in transformers, a mark inside a macro or a block
  // that is stored counts from the text around it.
  std::vector<CharacterRange> generated;
  // Nobody marked them, and white space at their ends, which no token may hold, is not theirs.
  bool found_by_opening = false;
};

class ChatTemplate {
 public:
  // `origin` names the template in messages: its file. Errors (kData): no template, or one that needs what is not here.
  static ChatTemplate parse(std::string source, std::string origin);
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // Any number of threads may render at a time. `now` is what strftime_now() tells. Errors (kData): what the template
  // raises, or what it does that Python would refuse, at a place of the template; more than `limits` allow.
  Rendered render(const Variables& variables, const std::tm& now, const Limits& limits = {}) const;

  // Whether there is a {% generation %} in it.
  bool marks_generation() const;

 private:
  struct Parsed;
  explicit ChatTemplate(std::unique_ptr<const Parsed> parsed);
  std::unique_ptr<const Parsed> parsed_;
};

}  // namespace hftrain::chat

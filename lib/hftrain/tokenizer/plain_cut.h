// What a pre-tokenizer comes to whose cuts depend on single characters alone.
#pragma once

#include <optional>
#include <string>

#include "hftrain/tokenizer/plain_text.h"

namespace hftrain::tokenizer {

struct PlainCut {
  enum class Words {
    kWhole,           // the text is one
    kBetweenSpaces,   // white space goes
    kWordsAndOthers,  // \w+|[^\w\s]+
    kBert,            // white space goes, punctuation stands alone
  };
  // SentencePiece's marks: spaces become marks, each word gets one in front, and each mark begins a piece.
  struct Marks {
    std::string mark;
    bool prepend;
  };

  Words words = Words::kWhole;
  std::optional<Marks> marks = std::nullopt;  // in the words
};

// Fills `text.pieces`; where there are marks to write, `marked` is filled in place of it, and true is given.
bool cut_plain(const PlainCut& cut, PlainText& text, PlainText& marked);

}  // namespace hftrain::tokenizer

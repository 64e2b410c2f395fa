// Which pipelines have a way from text to tokens that builds no texts in between, and which way that is.
#pragma once

#include <optional>

#include "hftrain/tokenizer/added_tokens.h"
#include "hftrain/tokenizer/bpe_model.h"
#include "hftrain/tokenizer/normalizers.h"
#include "hftrain/tokenizer/pre_tokenizers.h"

namespace hftrain::tokenizer {

// Parts of a pipeline, which outlive whoever holds this. Null ones are absent.
struct FastParts {
  const Normalizer* normalizer;
  const PreTokenizer* pre_tokenizer;
  const Model& model;
  const BpeModel* bpe;  // the model, if it is one
  const AddedTokens& added_tokens;
};

// How pieces are found.
struct FastPlan {
  enum class Way {
    kByteLevel,      // the raw bytes of pieces
    kMarks,          // spaces are ▁
    kBetweenSpaces,  // stretches of text as they came, each through the whole pipeline once
  };
  enum class Prefix { kNone, kAlways, kUnlessMarked, kUnlessMarkedAtStart };

  Way way = Way::kMarks;
  bool nfc = false;
  std::optional<ByteLevelSplit> byte_level;
  Prefix prefix = Prefix::kNone;  // a ▁ in front
  bool cut_every_mark = false;    // before every ▁; else before the first of a run, if the model allows
  bool cut_around_han = false;    // at spaces, and where the normalizer puts some around Chinese characters
  std::optional<PlainCut> plain_cut;  // of a stretch whose characters keep to themselves

  // Null when these parts allow no shortcut.
  static std::optional<FastPlan> of(const FastParts& parts);
};

}  // namespace hftrain::tokenizer

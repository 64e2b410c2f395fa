// Text straight to ids for the pipelines that matter: no texts are built, no offsets kept, and pieces seen
// before come from a cache. Gives the same ids as the pipeline it was made from.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/added_tokens.h"
#include "hftrain/tokenizer/bpe_model.h"
#include "hftrain/tokenizer/normalizers.h"
#include "hftrain/tokenizer/piece_cache.h"
#include "hftrain/tokenizer/pre_tokenizers.h"

namespace hftrain::tokenizer {

// Safe to call from any thread: each call borrows a workspace of its own.
class FastEncoder {
 public:
  // Null when these parts allow no shortcut. The parts must outlive the encoder.
  static std::unique_ptr<const FastEncoder> make(const Normalizer* normalizer,
                                                 const PreTokenizer* pre_tokenizer, const Model& model,
                                                 const AddedTokens& added_tokens);

  // Appends the ids of `text`, which is valid UTF-8, without special tokens around it. False, with `ids` as
  // they were, for the rare text that only the whole pipeline gets right.
  bool encode(std::string_view text, std::vector<TokenId>& ids) const;

 private:
  enum class Prefix { kNone, kAlways, kUnlessMarked, kUnlessMarkedAtStart };
  enum class Way {
    kByteLevel,      // the raw bytes of pieces
    kMarks,          // spaces are ▁
    kBetweenSpaces,  // stretches of text as they came, each through the whole pipeline once
  };
  // How pieces are found.
  struct Plan {
    Way way = Way::kMarks;
    bool nfc = false;
    std::optional<ByteLevelSplit> byte_level;
    Prefix prefix = Prefix::kNone;  // a ▁ in front
    bool cut_every_mark = false;    // before every ▁; else before the first of a run, if the model allows
  };
  // Null ones are absent.
  struct Parts {
    const Normalizer* normalizer;
    const PreTokenizer* pre_tokenizer;
    const Model& model;
    const BpeModel* bpe;  // the model, if it is one
    const AddedTokens& added_tokens;
  };
  struct Workspace {
    PieceCache cache;
    std::vector<Symbol> symbols;
    std::vector<ModelToken> tokens;
    std::string text;
  };
  // One call's view: the workspace it borrowed and where the ids go.
  class Run;

  FastEncoder(Plan plan, const Parts& parts) : plan_(plan), parts_(parts) {}
  static std::optional<Plan> plan_of(const Parts& parts);
  static std::optional<Plan> byte_level_plan(const Parts& parts);
  static std::optional<Plan> marks_plan(const Parts& parts);
  static std::optional<Plan> between_spaces_plan(const Parts& parts);
  std::unique_ptr<Workspace> borrow() const;
  void give_back(std::unique_ptr<Workspace> workspace) const;

  Plan plan_;
  Parts parts_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace hftrain::tokenizer

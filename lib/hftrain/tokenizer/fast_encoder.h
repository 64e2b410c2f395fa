// Text to tokens for the pipelines that matter: no texts are built, and pieces seen before come from a cache.
// Gives the same as the pipeline it was made from.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/encoding.h"
#include "hftrain/tokenizer/fast_plan.h"

namespace hftrain::tokenizer {

class CharacterOffsets;

// Safe to call from any thread: each call borrows a workspace of its own.
class FastEncoder {
 public:
  // Null when these parts allow no shortcut. The parts must outlive the encoder.
  static std::unique_ptr<const FastEncoder> make(const Normalizer* normalizer,
                                                 const PreTokenizer* pre_tokenizer, const Model& model,
                                                 const AddedTokens& added_tokens);
  ~FastEncoder();

  // Appends the ids of `text`, which is valid UTF-8, without special tokens around it. False, with `ids` as
  // they were, for the rare text that only the whole pipeline gets right.
  bool encode(std::string_view text, std::vector<TokenId>& ids) const;
  // The same with everything about the tokens. All belong to `word`, or to the piece that they are from with
  // kUnassigned; `offsets` are those of `text`.
  bool encode(std::string_view text, const CharacterOffsets& offsets, int32_t word, Encoding& encoding) const;

 private:
  struct Workspace;

  FastEncoder(FastPlan plan, const FastParts& parts);
  template <typename Use>
  bool with_workspace(Use use) const;
  std::unique_ptr<Workspace> borrow() const;

  FastPlan plan_;
  FastParts parts_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace hftrain::tokenizer

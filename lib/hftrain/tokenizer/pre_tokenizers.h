// The second step of a pipeline: cuts normalised text into the pieces that the model sees one by one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/tokenizer/aligned_text.h"
#include "hftrain/tokenizer/json_part.h"
#include "hftrain/tokenizer/metaspace.h"
#include "hftrain/tokenizer/plain_cut.h"
#include "hftrain/tokenizer/splitters.h"

namespace hftrain::tokenizer {

// When a pre-tokenizer comes to nothing but "maybe put a space in front, cut by a known pattern, write the
// bytes in the byte-level alphabet", this says so, and an encoder that needs no offsets can do that without
// building any texts.
struct ByteLevelSplit {
  bool add_prefix_space = false;
  std::optional<KnownPattern> pattern;  // unset: not cut at all
};

// Immutable; may be called from any thread.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Replaces `pieces` by their parts; empty ones vanish.
  virtual void cut(std::vector<AlignedText>& pieces) const = 0;
  virtual std::optional<ByteLevelSplit> byte_level_split() const { return std::nullopt; }
  // The known pattern of a Split that isolates its matches.
  virtual std::optional<KnownPattern> isolated_pattern() const { return std::nullopt; }
  virtual std::optional<Metaspace> metaspace() const { return std::nullopt; }
  // True when no piece reaches over a space, and none depends on what lies beyond one: text can be cut there
  // and its parts one by one.
  virtual bool cuts_at_spaces() const { return false; }
  // What it comes to, where single characters alone decide on its cuts.
  virtual std::optional<PlainCut> plain_cut() const { return std::nullopt; }
  // True when what becomes of a piece depends on its text alone.
  virtual bool works_piece_by_piece() const { return true; }
};

// The `pre_tokenizer` of a tokenizer.json. Throws Error (exit code 4) for a type that is not known.
std::shared_ptr<const PreTokenizer> read_pre_tokenizer(const JsonPart& part);

}  // namespace hftrain::tokenizer

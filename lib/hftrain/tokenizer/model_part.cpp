#include "hftrain/tokenizer/model_part.h"

#include <utility>

#include "hftrain/tokenizer/bpe_part.h"
#include "hftrain/tokenizer/unigram_model.h"
#include "hftrain/tokenizer/vocabulary_part.h"
#include "hftrain/tokenizer/word_level_model.h"
#include "hftrain/tokenizer/word_piece_model.h"

namespace hftrain::tokenizer {
namespace {

std::shared_ptr<const Model> read_word_piece(const JsonPart& part) {
  WordPieceOptions options;
  options.unknown_token = part.text("unk_token");
  options.continuing_prefix = part.text("continuing_subword_prefix");
  options.max_word_characters = part.at("max_input_chars_per_word").integer(0);
  return std::make_shared<WordPieceModel>(read_vocabulary(part.at("vocab")), std::move(options));
}

std::shared_ptr<const Model> read_word_level(const JsonPart& part) {
  return std::make_shared<WordLevelModel>(read_vocabulary(part.at("vocab")), part.text("unk_token"));
}

std::shared_ptr<const Model> read_unigram(const JsonPart& part) {
  ScoredVocabulary scored = read_scored_vocabulary(part.at("vocab"));
  std::optional<TokenId> unknown_id;
  if (const auto unknown = part.find("unk_id")) {
    if (scored.scores.empty()) throw unknown->error("the vocabulary is empty");
    unknown_id = static_cast<TokenId>(unknown->integer(0, static_cast<int64_t>(scored.scores.size()) - 1));
  }
  return std::make_shared<UnigramModel>(std::move(scored.vocabulary), std::move(scored.scores), unknown_id,
                                        part.boolean("byte_fallback", false));
}

// Files of the first versions have no type; their members tell.
std::string type_of(const JsonPart& part) {
  if (part.has("type")) return part.text("type");
  if (part.has("merges")) return "BPE";
  if (part.has("max_input_chars_per_word")) return "WordPiece";
  if (part.has("unk_token")) return "WordLevel";
  return part.has("vocab") && part.at("vocab").element().is_array() ? "Unigram" : "";
}

}  // namespace

std::shared_ptr<const Model> read_model(const JsonPart& part) {
  const std::string type = type_of(part);
  if (type == "BPE") return read_bpe(part);
  if (type == "WordPiece") return read_word_piece(part);
  if (type == "WordLevel") return read_word_level(part);
  if (type == "Unigram") return read_unigram(part);
  throw part.unsupported("the model '" + type +
                         "' is not known here; BPE, WordPiece, WordLevel and Unigram are");
}

}  // namespace hftrain::tokenizer

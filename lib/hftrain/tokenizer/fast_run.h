// One text on its way through a FastPlan into a sink (fast_sinks.h).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/character_memo.h"
#include "hftrain/tokenizer/encoding_stop.h"
#include "hftrain/tokenizer/fast_plan.h"
#include "hftrain/tokenizer/plain_cut.h"
#include "hftrain/tokenizer/plain_text.h"
#include "hftrain/tokenizer/space_cuts.h"
#include "hftrain/tokenizer/splitters.h"
#include "hftrain/tokenizer/token_cache.h"
#include "hftrain/tokenizer/unicode/normal_forms.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {

// Buffers that a run uses and leaves to the next.
struct FastBuffers {
  std::vector<Symbol> symbols;
  std::vector<ModelToken> tokens;
  std::vector<PlacedToken> placed;
  std::string text;
  std::vector<uint32_t> origins;  // of each byte of `text`: where its character begins in the piece
  CharacterMemo characters;
  PlainText plain, marked;
};

// Bytes of the ▁ or space at `i`, which is a ▁ once normalised; 0 for anything else.
size_t mark_at(std::string_view text, size_t i);
// Where the piece that begins at `from` ends.
size_t marked_piece_end(std::string_view text, size_t from, bool cut_every_mark, bool after_mark);

template <typename Sink>
class FastRun {
 public:
  FastRun(const FastPlan& plan, const FastParts& parts, FastBuffers& buffers, Sink& sink)
      : plan_(plan), parts_(parts), buffers_(buffers), sink_(sink) {}

  // False for the rare text that only the whole pipeline gets right; the sink has some tokens then.
  bool encode(std::string_view text) {
    const TokenFinder& finder = parts_.added_tokens.raw();
    if (!finder.may_find(text)) return text.empty() || section(text, 0);
    for (const auto& [begin, end, token] : finder.find(text)) {
      const std::string_view part = text.substr(begin, end - begin);
      if (token != nullptr) {
        sink_.added(*token, part, begin);
      } else if (!section(part, begin)) {
        return false;
      }
    }
    return true;
  }

 private:
  using Way = FastPlan::Way;
  using Prefix = FastPlan::Prefix;

  // Text between added tokens, which begins at byte `origin` of the original.
  bool section(std::string_view text, size_t origin) {
    std::string normalized;
    if (plan_.nfc && !unicode::is_plain_nfc(text)) {
      const auto changes = unicode::normalize(text, unicode::NormalForm::kNfc);
      // An addition at the very start has no origin, which later steps of the pipeline trip over.
      if (!changes.empty() && changes.front().change > 0) return false;
      for (const unicode::Change& change : changes) unicode::append(change.character, normalized);
      if (Sink::kKeepsPlaces && !stays(changes, text, normalized)) return false;
      text = normalized;
    }
    const TokenFinder& finder = parts_.added_tokens.normalized();
    if (!finder.may_find(text)) return words(text, origin);
    for (const auto& [begin, end, token] : finder.find(text)) {
      const std::string_view part = text.substr(begin, end - begin);
      if (token != nullptr) {
        sink_.added(*token, part, origin + begin);
      } else if (!words(part, origin + begin)) {
        return false;
      }
    }
    return true;
  }

  static bool stays(const std::vector<unicode::Change>& changes, std::string_view text,
                    std::string_view normalized) {
    return text == normalized &&
           std::all_of(changes.begin(), changes.end(),
                       [](const unicode::Change& change) { return change.change == 0; });
  }

  bool words(std::string_view text, size_t origin) {
    if (text.empty()) return true;
    if (plan_.way == Way::kBetweenSpaces) return words_between_spaces(text, origin);
    if (plan_.way == Way::kByteLevel) {
      byte_level_words(text, origin);
    } else {
      marked_words(text, origin);
    }
    return true;
  }

  bool words_between_spaces(std::string_view text, size_t origin) {
    for (size_t begin = 0, end; begin < text.size(); begin = end) {
      end = next_cut(text, begin, plan_.cut_around_han);
      watch_.next_piece();
      const std::string_view stretch = text.substr(begin, end - begin);
      if (!sink_.known(stretch, text.data() + text.size(), origin + begin, 0) &&
          !plain_pipeline(stretch, origin + begin) && !whole_pipeline(stretch, origin + begin))
        return false;
    }
    return true;
  }

  // False, and nothing done, for a stretch with a character that does not keep to itself.
  bool plain_pipeline(std::string_view stretch, size_t origin) {
    PlainText& plain = buffers_.plain;
    if (!plan_.plain_cut || !buffers_.characters.normalize(parts_.normalizer, stretch, plain)) return false;
    const PlainText& cut = cut_plain(*plan_.plain_cut, plain, buffers_.marked) ? buffers_.marked : plain;
    buffers_.placed.clear();
    for (size_t i = 0; i < cut.pieces.size(); ++i) {
      if (!place_plain_tokens(cut, cut.pieces[i], static_cast<uint32_t>(i))) return false;
    }
    sink_.learned(stretch, buffers_.placed, static_cast<uint32_t>(cut.pieces.size()), origin, 0);
    return true;
  }

  bool place_plain_tokens(const PlainText& cut, const PlainText::Range& range, uint32_t word) {
    const std::string_view piece = cut.piece(range);
    buffers_.tokens.clear();
    parts_.model.tokenize(piece, buffers_.tokens);
    for (const ModelToken& token : buffers_.tokens) {
      if constexpr (Sink::kKeepsPlaces) {
        if (token.begin >= token.end || token.end > piece.size()) return false;
        place(token.id, cut.origins[range.begin + token.begin].begin,
              cut.origins[range.begin + token.end - 1].end, word, parts_.model.token_text(token, piece));
      } else {
        place(token.id, 0, 0, 0, {});
      }
    }
    return true;
  }

  bool whole_pipeline(std::string_view stretch, size_t origin) {
    std::vector<AlignedText> pieces;
    pieces.emplace_back(stretch);
    if (parts_.normalizer != nullptr) parts_.normalizer->normalize(pieces.front());
    if (Sink::kKeepsPlaces && pieces.front().is_skewed()) return false;  // so is the rest of the text
    if (pieces.front().empty()) pieces.clear();
    parts_.pre_tokenizer->cut(pieces);
    buffers_.placed.clear();
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (!pieces[i].empty() && !place_tokens(pieces[i], static_cast<uint32_t>(i))) return false;
    }
    sink_.learned(stretch, buffers_.placed, static_cast<uint32_t>(pieces.size()), origin, 0);
    return true;
  }

  bool place_tokens(const AlignedText& piece, uint32_t word) {
    buffers_.tokens.clear();
    parts_.model.tokenize(piece.text(), buffers_.tokens);
    for (const ModelToken& token : buffers_.tokens) {
      if constexpr (Sink::kKeepsPlaces) {
        if (token.end > piece.text().size()) return false;
        const auto [begin, end] = piece.original_of(token.begin, token.end);
        place(token.id, begin, end, word, parts_.model.token_text(token, piece.text()));
      } else {
        place(token.id, 0, 0, 0, {});
      }
    }
    return true;
  }

  void place(TokenId id, size_t begin, size_t end, uint32_t word, std::string_view text) {
    buffers_.placed.push_back({id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end), word, text});
  }

  void byte_level_words(std::string_view text, size_t origin) {
    std::string prefixed;
    size_t lead = 0;
    if (plan_.byte_level->add_prefix_space && text[0] != ' ') {
      lead = unicode::size_of(text[0]);
      prefixed.reserve(text.size() + 1);
      prefixed.append(1, ' ').append(text);
      text = prefixed;
    }
    const char* text_end = text.data() + text.size();
    if (!plan_.byte_level->pattern) return byte_level_piece(text, text_end, origin, lead);
    split(*plan_.byte_level->pattern, text, [&](const char* begin, const char* end) {
      watch_.next_piece();
      byte_level_piece({begin, static_cast<size_t>(end - begin)}, text_end, origin, lead);
      origin += static_cast<size_t>(end - begin) - (lead > 0 ? 1 : 0);
      lead = 0;
    });
  }

  void byte_level_piece(std::string_view piece, const char* text_end, size_t origin, size_t lead) {
    if (sink_.known(piece, text_end, origin, lead)) return;
    parts_.bpe->tokenize_bytes(piece, buffers_.symbols);
    buffers_.placed.clear();
    size_t begin = 0;
    for (const Symbol& symbol : buffers_.symbols) {
      const size_t end = begin + symbol.size;
      if constexpr (Sink::kKeepsPlaces) {
        place(symbol.id, character_begin(piece, begin), character_end(piece, end), 0,
              parts_.bpe->vocabulary().token_of(symbol.id));
      } else {
        place(symbol.id, 0, 0, 0, {});
      }
      begin = end;
    }
    sink_.learned(piece, buffers_.placed, 1, origin, lead);
  }

  static bool is_inside(std::string_view text, size_t i) {
    return i < text.size() && (static_cast<uint8_t>(text[i]) & 0xC0) == 0x80;
  }
  static size_t character_begin(std::string_view text, size_t i) {
    while (is_inside(text, i)) --i;
    return i;
  }
  static size_t character_end(std::string_view text, size_t i) {
    while (is_inside(text, i)) ++i;
    return i;
  }

  bool needs_prefix(std::string_view text, size_t origin) const {
    if (plan_.prefix == Prefix::kNone) return false;
    if (plan_.prefix == Prefix::kAlways) return true;
    return mark_at(text, 0) == 0 && (plan_.prefix == Prefix::kUnlessMarked || origin == 0);
  }

  void marked_words(std::string_view text, size_t origin) {
    marked_pieces(text, origin);
    if (!plan_.cut_every_mark) sink_.end_word();
  }

  void marked_pieces(std::string_view text, size_t origin) {
    const bool cuts_runs = parts_.bpe != nullptr && parts_.bpe->splits_before_metaspace();
    const size_t lead = needs_prefix(text, origin) ? unicode::size_of(text[0]) : 0;
    const char* text_end = text.data() + text.size();
    size_t begin = 0;
    if (lead > 0) {
      // The mark in front and what follows up to the next cut, as if the text began with a space.
      const bool whole = !plan_.cut_every_mark && !cuts_runs;
      begin = whole ? text.size()
              : mark_at(text, 0) > 0 && plan_.cut_every_mark
                  ? 0
                  : marked_piece_end(text, 0, plan_.cut_every_mark, true);
      const std::string first = ' ' + std::string(text.substr(0, begin));
      marked_piece(first, first.data() + first.size(), origin, lead);
    }
    while (begin < text.size()) {
      watch_.next_piece();
      const size_t end = plan_.cut_every_mark || cuts_runs
                             ? marked_piece_end(text, begin, plan_.cut_every_mark, false)
                             : text.size();
      marked_piece(text.substr(begin, end - begin), text_end, origin + begin, 0);
      begin = end;
    }
  }

  void marked_piece(std::string_view piece, const char* text_end, size_t origin, size_t lead) {
    if (sink_.known(piece, text_end, origin, lead)) return;
    write_marks(piece);
    buffers_.tokens.clear();
    parts_.model.tokenize(buffers_.text, buffers_.tokens);
    buffers_.placed.clear();
    for (const ModelToken& token : buffers_.tokens) {
      if constexpr (Sink::kKeepsPlaces) {
        const size_t last = buffers_.origins[token.end - 1];
        place(token.id, buffers_.origins[token.begin], last + unicode::size_of(piece[last]), 0,
              parts_.model.token_text(token, buffers_.text));
      } else {
        place(token.id, 0, 0, 0, {});
      }
    }
    sink_.learned(piece, buffers_.placed, plan_.cut_every_mark ? 1 : 0, origin, lead);
  }

  void write_marks(std::string_view piece) {
    buffers_.text.clear();
    buffers_.origins.clear();
    for (size_t i = 0, size; i < piece.size(); i += size) {
      size = unicode::size_of(piece[i]);
      buffers_.text += piece[i] == ' ' ? kSpaceMark : piece.substr(i, size);
      if constexpr (Sink::kKeepsPlaces)
        buffers_.origins.resize(buffers_.text.size(), static_cast<uint32_t>(i));
    }
  }

  const FastPlan& plan_;
  const FastParts& parts_;
  FastBuffers& buffers_;
  Sink& sink_;
  StopWatch watch_;
};

}  // namespace hftrain::tokenizer

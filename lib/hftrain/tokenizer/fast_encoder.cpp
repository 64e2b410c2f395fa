#include "hftrain/tokenizer/fast_encoder.h"

#include <utility>

#include "hftrain/tokenizer/space_cuts.h"
#include "hftrain/tokenizer/splitters.h"
#include "hftrain/tokenizer/unicode/normal_forms.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

// Bytes of the ▁ or space at `i`, which is a ▁ once normalised; 0 for anything else.
size_t mark_at(std::string_view text, size_t i) {
  if (text[i] == ' ') return 1;
  if (text[i] != kSpaceMark[0]) return 0;
  return text.compare(i, kSpaceMark.size(), kSpaceMark) == 0 ? kSpaceMark.size() : 0;
}

// Where the piece that begins at `from` ends.
size_t piece_end(std::string_view text, size_t from, bool cut_every_mark, bool after_mark) {
  size_t i = from;
  while (i < text.size()) {
    const size_t mark = mark_at(text, i);
    if (mark > 0 && i > from && (cut_every_mark || !after_mark)) return i;
    after_mark = mark > 0;
    i += mark > 0 ? mark : 1;
  }
  return i;
}

}  // namespace

class FastEncoder::Run {
 public:
  Run(const FastEncoder& encoder, Workspace& workspace, std::vector<TokenId>& ids)
      : plan_(encoder.plan_), parts_(encoder.parts_), workspace_(workspace), ids_(ids) {}

  bool encode(std::string_view text) {
    const TokenFinder& finder = parts_.added_tokens.raw();
    if (!finder.may_find(text)) return text.empty() || section(text, true);
    for (const auto& [begin, end, token] : finder.find(text)) {
      if (token != nullptr) {
        ids_.push_back(token->id);
      } else if (!section(text.substr(begin, end - begin), begin == 0)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool section(std::string_view text, bool at_start) {
    std::string normalized;
    if (plan_.nfc && !unicode::is_plain_nfc(text)) {
      const auto changes = unicode::normalize(text, unicode::NormalForm::kNfc);
      // An addition at the very start has no origin, which later steps of the pipeline trip over.
      if (!changes.empty() && changes.front().change > 0) return false;
      for (const unicode::Change& change : changes) unicode::append(change.character, normalized);
      text = normalized;
    }
    const TokenFinder& finder = parts_.added_tokens.normalized();
    if (!finder.may_find(text)) {
      words(text, at_start);
      return true;
    }
    for (const auto& [begin, end, token] : finder.find(text)) {
      if (token != nullptr) {
        ids_.push_back(token->id);
      } else {
        words(text.substr(begin, end - begin), at_start && begin == 0);
      }
    }
    return true;
  }

  void words(std::string_view text, bool at_start) {
    if (text.empty()) return;
    switch (plan_.way) {
      case Way::kByteLevel:
        return byte_level_words(text);
      case Way::kMarks:
        return marked_words(text, at_start);
      case Way::kBetweenSpaces:
        return words_between_spaces(text);
    }
  }

  void words_between_spaces(std::string_view text) {
    for (size_t begin = 0, end; begin < text.size(); begin = end) {
      end = next_cut(text, begin);
      const std::string_view stretch = text.substr(begin, end - begin);
      if (!workspace_.cache.append(stretch, text.data() + text.size(), ids_)) whole_pipeline(stretch);
    }
  }

  void whole_pipeline(std::string_view stretch) {
    std::vector<AlignedText> pieces;
    pieces.emplace_back(stretch);
    if (parts_.normalizer != nullptr) parts_.normalizer->normalize(pieces.front());
    if (pieces.front().empty()) pieces.clear();
    parts_.pre_tokenizer->cut(pieces);
    const size_t before = ids_.size();
    for (const AlignedText& piece : pieces) {
      if (!piece.empty()) append_tokens(piece.text());
    }
    workspace_.cache.insert(stretch, ids_.data() + before, ids_.size() - before);
  }

  void append_tokens(std::string_view piece) {
    workspace_.tokens.clear();
    parts_.model.tokenize(piece, workspace_.tokens);
    for (const ModelToken& token : workspace_.tokens) ids_.push_back(token.id);
  }

  void byte_level_words(std::string_view text) {
    std::string prefixed;
    if (plan_.byte_level->add_prefix_space && text[0] != ' ') {
      prefixed.reserve(text.size() + 1);
      prefixed.append(1, ' ').append(text);
      text = prefixed;
    }
    const char* text_end = text.data() + text.size();
    if (!plan_.byte_level->pattern) return byte_level_piece(text, text_end);
    split(*plan_.byte_level->pattern, text, [&](const char* begin, const char* end) {
      byte_level_piece({begin, static_cast<size_t>(end - begin)}, text_end);
    });
  }

  void byte_level_piece(std::string_view piece, const char* text_end) {
    if (workspace_.cache.append(piece, text_end, ids_)) return;
    parts_.bpe->tokenize_bytes(piece, workspace_.symbols);
    const size_t before = ids_.size();
    for (const Symbol& symbol : workspace_.symbols) ids_.push_back(symbol.id);
    workspace_.cache.insert(piece, ids_.data() + before, ids_.size() - before);
  }

  bool needs_prefix(std::string_view text, bool at_start) const {
    if (plan_.prefix == Prefix::kNone) return false;
    if (plan_.prefix == Prefix::kAlways) return true;
    return mark_at(text, 0) == 0 && (plan_.prefix == Prefix::kUnlessMarked || at_start);
  }

  void marked_words(std::string_view text, bool at_start) {
    const bool cuts_runs = parts_.bpe != nullptr && parts_.bpe->splits_before_metaspace();
    if (!plan_.cut_every_mark && !cuts_runs) {
      std::string whole = needs_prefix(text, at_start) ? " " : "";
      whole += text;
      return marked_piece(whole, whole.data() + whole.size());
    }
    size_t begin = 0;
    if (needs_prefix(text, at_start)) {
      // The mark in front and what follows up to the next cut, as if the text began with a space.
      begin =
          mark_at(text, 0) > 0 && plan_.cut_every_mark ? 0 : piece_end(text, 0, plan_.cut_every_mark, true);
      const std::string first = ' ' + std::string(text.substr(0, begin));
      marked_piece(first, first.data() + first.size());
    }
    while (begin < text.size()) {
      const size_t end = piece_end(text, begin, plan_.cut_every_mark, false);
      marked_piece(text.substr(begin, end - begin), text.data() + text.size());
      begin = end;
    }
  }

  void marked_piece(std::string_view piece, const char* text_end) {
    if (workspace_.cache.append(piece, text_end, ids_)) return;
    std::string& text = workspace_.text;
    text.clear();
    for (const char c : piece) {
      if (c == ' ') {
        text += kSpaceMark;
      } else {
        text += c;
      }
    }
    const size_t before = ids_.size();
    append_tokens(text);
    workspace_.cache.insert(piece, ids_.data() + before, ids_.size() - before);
  }

  const Plan& plan_;
  const Parts& parts_;
  Workspace& workspace_;
  std::vector<TokenId>& ids_;
};

std::optional<FastEncoder::Plan> FastEncoder::byte_level_plan(const Parts& parts) {
  if (parts.pre_tokenizer == nullptr || parts.bpe == nullptr || !parts.bpe->knows_all_bytes())
    return std::nullopt;
  const bool nfc = parts.normalizer != nullptr && parts.normalizer->shortcut() == Normalizer::Shortcut::kNfc;
  if (parts.normalizer != nullptr && !nfc) return std::nullopt;
  const auto byte_level = parts.pre_tokenizer->byte_level_split();
  if (!byte_level) return std::nullopt;
  return Plan{.way = Way::kByteLevel, .nfc = nfc, .byte_level = byte_level};
}

std::optional<FastEncoder::Plan> FastEncoder::marks_plan(const Parts& parts) {
  using Shortcut = Normalizer::Shortcut;
  Plan plan{.way = Way::kMarks};
  if (parts.pre_tokenizer == nullptr) {
    const Shortcut shortcut = parts.normalizer == nullptr ? Shortcut::kNone : parts.normalizer->shortcut();
    // Tokens that are looked for in text full of ▁ would have to be looked for there.
    const bool marks = shortcut == Shortcut::kSpaceMarks || shortcut == Shortcut::kPrependSpaceMarkAndReplace;
    if (!marks || !parts.added_tokens.normalized().empty()) return std::nullopt;
    plan.prefix = shortcut == Shortcut::kSpaceMarks ? Prefix::kNone : Prefix::kAlways;
    return plan;
  }
  const auto metaspace = parts.pre_tokenizer->metaspace();
  if (!metaspace || metaspace->replacement != kSpaceMark || parts.normalizer != nullptr) return std::nullopt;
  plan.cut_every_mark = metaspace->split;
  plan.prefix = metaspace->prepend == Metaspace::Prepend::kNever    ? Prefix::kNone
                : metaspace->prepend == Metaspace::Prepend::kAlways ? Prefix::kUnlessMarked
                                                                    : Prefix::kUnlessMarkedAtStart;
  return plan;
}

// Added tokens of normalised text would have to be looked for there.
std::optional<FastEncoder::Plan> FastEncoder::between_spaces_plan(const Parts& parts) {
  const bool normalizes = parts.normalizer == nullptr || parts.normalizer->works_between_spaces();
  const bool cuts = parts.pre_tokenizer != nullptr && parts.pre_tokenizer->cuts_at_spaces();
  if (!normalizes || !cuts || !parts.added_tokens.normalized().empty()) return std::nullopt;
  return Plan{.way = Way::kBetweenSpaces};
}

std::optional<FastEncoder::Plan> FastEncoder::plan_of(const Parts& parts) {
  for (const auto plan_by : {byte_level_plan, marks_plan, between_spaces_plan}) {
    if (const auto plan = plan_by(parts)) return plan;
  }
  return std::nullopt;
}

std::unique_ptr<const FastEncoder> FastEncoder::make(const Normalizer* normalizer,
                                                     const PreTokenizer* pre_tokenizer, const Model& model,
                                                     const AddedTokens& added_tokens) {
  const Parts parts{normalizer, pre_tokenizer, model, dynamic_cast<const BpeModel*>(&model), added_tokens};
  const auto plan = plan_of(parts);
  if (!plan) return nullptr;
  return std::unique_ptr<const FastEncoder>(new FastEncoder(*plan, parts));
}

bool FastEncoder::encode(std::string_view text, std::vector<TokenId>& ids) const {
  const size_t before = ids.size();
  std::unique_ptr<Workspace> workspace = borrow();
  const bool done = Run(*this, *workspace, ids).encode(text);
  give_back(std::move(workspace));
  if (!done) ids.resize(before);
  return done;
}

std::unique_ptr<FastEncoder::Workspace> FastEncoder::borrow() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Workspace> workspace = std::move(idle_.back());
      idle_.pop_back();
      return workspace;
    }
  }
  return std::make_unique<Workspace>();
}

void FastEncoder::give_back(std::unique_ptr<Workspace> workspace) const {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(workspace));
}

}  // namespace hftrain::tokenizer

#include "hftrain/tokenizer/fast_encoder.h"

#include <utility>

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
      : encoder_(encoder), plan_(encoder.plan_), model_(encoder.model_), workspace_(workspace), ids_(ids) {}

  bool encode(std::string_view text) {
    const TokenFinder& finder = encoder_.added_tokens_.raw();
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
    const TokenFinder& finder = encoder_.added_tokens_.normalized();
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
    if (plan_.byte_level) {
      byte_level_words(text);
    } else {
      marked_words(text, at_start);
    }
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
    model_.tokenize_bytes(piece, workspace_.symbols);
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
    const bool cuts_runs = model_.splits_before_metaspace();
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
    workspace_.tokens.clear();
    model_.tokenize(text, workspace_.tokens);
    const size_t before = ids_.size();
    for (const ModelToken& token : workspace_.tokens) ids_.push_back(token.id);
    workspace_.cache.insert(piece, ids_.data() + before, ids_.size() - before);
  }

  const FastEncoder& encoder_;
  const Plan& plan_;
  const BpeModel& model_;
  Workspace& workspace_;
  std::vector<TokenId>& ids_;
};

std::optional<FastEncoder::Plan> FastEncoder::plan_of(const Normalizer* normalizer,
                                                      const PreTokenizer* pre_tokenizer,
                                                      const BpeModel& model,
                                                      const AddedTokens& added_tokens) {
  using Shortcut = Normalizer::Shortcut;
  const Shortcut shortcut = normalizer == nullptr ? Shortcut::kNone : normalizer->shortcut();
  Plan plan;
  plan.nfc = shortcut == Shortcut::kNfc;
  const bool plain_text = normalizer == nullptr || plan.nfc;
  if (pre_tokenizer == nullptr) {
    // Tokens that are looked for in text full of ▁ would have to be looked for there.
    const bool marks = shortcut == Shortcut::kSpaceMarks || shortcut == Shortcut::kPrependSpaceMarkAndReplace;
    if (!marks || !added_tokens.normalized().empty()) return std::nullopt;
    plan.prefix = shortcut == Shortcut::kSpaceMarks ? Prefix::kNone : Prefix::kAlways;
    return plan;
  }
  if (!plain_text) return std::nullopt;
  if (const auto byte_level = pre_tokenizer->byte_level_split()) {
    if (!model.knows_all_bytes()) return std::nullopt;
    plan.byte_level = byte_level;
    return plan;
  }
  const auto metaspace = pre_tokenizer->metaspace();
  if (!metaspace || metaspace->replacement != kSpaceMark || plan.nfc) return std::nullopt;
  plan.cut_every_mark = metaspace->split;
  plan.prefix = metaspace->prepend == Metaspace::Prepend::kNever    ? Prefix::kNone
                : metaspace->prepend == Metaspace::Prepend::kAlways ? Prefix::kUnlessMarked
                                                                    : Prefix::kUnlessMarkedAtStart;
  return plan;
}

std::unique_ptr<const FastEncoder> FastEncoder::make(const Normalizer* normalizer,
                                                     const PreTokenizer* pre_tokenizer, const Model& model,
                                                     const AddedTokens& added_tokens) {
  const auto* bpe = dynamic_cast<const BpeModel*>(&model);
  if (bpe == nullptr) return nullptr;
  const auto plan = plan_of(normalizer, pre_tokenizer, *bpe, added_tokens);
  if (!plan) return nullptr;
  return std::unique_ptr<const FastEncoder>(new FastEncoder(*plan, *bpe, added_tokens));
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

#include "hftrain/tokenizer/fast_plan.h"

namespace hftrain::tokenizer {
namespace {

std::optional<FastPlan> byte_level_plan(const FastParts& parts) {
  if (parts.pre_tokenizer == nullptr || parts.bpe == nullptr || !parts.bpe->knows_all_bytes())
    return std::nullopt;
  const bool nfc = parts.normalizer != nullptr && parts.normalizer->shortcut() == Normalizer::Shortcut::kNfc;
  if (parts.normalizer != nullptr && !nfc) return std::nullopt;
  const auto byte_level = parts.pre_tokenizer->byte_level_split();
  if (!byte_level) return std::nullopt;
  return FastPlan{.way = FastPlan::Way::kByteLevel, .nfc = nfc, .byte_level = byte_level};
}

// The bytes of a character with its prefix or suffix are more than the text has: tokens reach beyond it, and
// only the whole pipeline has places for them.
bool outgrows_text(const FastParts& parts) {
  if (parts.bpe == nullptr) return false;
  const BpeOptions& options = parts.bpe->options();
  return options.byte_fallback && !(options.continuing_prefix.empty() && options.end_of_word.empty());
}

std::optional<FastPlan> marks_plan(const FastParts& parts) {
  using Shortcut = Normalizer::Shortcut;
  if (outgrows_text(parts)) return std::nullopt;
  FastPlan plan{.way = FastPlan::Way::kMarks};
  if (parts.pre_tokenizer == nullptr) {
    const Shortcut shortcut = parts.normalizer == nullptr ? Shortcut::kNone : parts.normalizer->shortcut();
    // Tokens that are looked for in text full of ▁ would have to be looked for there.
    const bool marks = shortcut == Shortcut::kSpaceMarks || shortcut == Shortcut::kPrependSpaceMarkAndReplace;
    if (!marks || !parts.added_tokens.normalized().empty()) return std::nullopt;
    plan.prefix = shortcut == Shortcut::kSpaceMarks ? FastPlan::Prefix::kNone : FastPlan::Prefix::kAlways;
    return plan;
  }
  const auto metaspace = parts.pre_tokenizer->metaspace();
  if (!metaspace || metaspace->replacement != kSpaceMark || parts.normalizer != nullptr) return std::nullopt;
  plan.cut_every_mark = metaspace->split;
  plan.prefix = metaspace->prepend == Metaspace::Prepend::kNever    ? FastPlan::Prefix::kNone
                : metaspace->prepend == Metaspace::Prepend::kAlways ? FastPlan::Prefix::kUnlessMarked
                                                                    : FastPlan::Prefix::kUnlessMarkedAtStart;
  return plan;
}

// Added tokens of normalised text would have to be looked for there.
std::optional<FastPlan> between_spaces_plan(const FastParts& parts) {
  const bool normalizes = parts.normalizer == nullptr || parts.normalizer->works_between_spaces();
  const bool cuts = parts.pre_tokenizer != nullptr && parts.pre_tokenizer->cuts_at_spaces();
  if (!normalizes || !cuts || !parts.added_tokens.normalized().empty()) return std::nullopt;
  FastPlan plan{.way = FastPlan::Way::kBetweenSpaces};
  plan.plain_cut = parts.pre_tokenizer->plain_cut();
  // In marks the spaces are seen.
  plan.cut_around_han = plan.plain_cut && !plan.plain_cut->marks && parts.normalizer != nullptr &&
                        parts.normalizer->surrounds_han();
  return plan;
}

}  // namespace

std::optional<FastPlan> FastPlan::of(const FastParts& parts) {
  for (const auto plan_by : {byte_level_plan, marks_plan, between_spaces_plan}) {
    if (const auto plan = plan_by(parts)) return plan;
  }
  return std::nullopt;
}

}  // namespace hftrain::tokenizer

#include "hftrain/tokenizer/character_memo.h"

#include <algorithm>
#include <string>

#include "hftrain/tokenizer/aligned_text.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

// Whether every byte is said to come from the whole of the character that it was made of.
bool is_all_from(const AlignedText& text, size_t original_size) {
  for (size_t i = 0; i < text.text().size(); ++i) {
    if (text.original_of(i, i + 1) != std::pair(size_t{0}, original_size)) return false;
  }
  return !text.is_skewed();
}

}  // namespace

const CharacterMemo::Entry& CharacterMemo::entry_of(const Normalizer* normalizer, char32_t c) {
  static constexpr Entry kBeyond{.kind = Entry::kSpecial};
  if (c >= kBlockSize * kBlocks) return kBeyond;
  std::unique_ptr<Block>& block = blocks_[c / kBlockSize];
  if (block == nullptr) block = std::make_unique<Block>();
  Entry& entry = (*block)[c % kBlockSize];
  if (entry.kind != Entry::kUnknown) return entry;
  entry.kind = Entry::kSpecial;
  std::string original;
  unicode::append(c, original);
  AlignedText text(original);
  if (normalizer != nullptr) {
    if (!normalizer->keeps_apart(c)) return entry;
    normalizer->normalize(text);
  }
  if (text.text().size() > sizeof entry.bytes || !is_all_from(text, original.size())) return entry;
  entry.kind = Entry::kKnown;
  entry.size = static_cast<uint8_t>(text.text().size());
  std::copy(text.text().begin(), text.text().end(), entry.bytes);
  return entry;
}

bool CharacterMemo::normalize(const Normalizer* normalizer, std::string_view text, PlainText& result) {
  result.clear();
  for (size_t i = 0, size; i < text.size(); i += size) {
    size = unicode::size_of(text[i]);
    const Entry& entry = entry_of(normalizer, unicode::decode(text.data() + i));
    if (entry.kind == Entry::kSpecial) return false;
    result.append(entry.text(), {static_cast<uint32_t>(i), static_cast<uint32_t>(i + size)});
  }
  return true;
}

}  // namespace hftrain::tokenizer

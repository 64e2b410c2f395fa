#include "hftrain/tokenizer/plain_cut.h"

#include <string_view>

#include "hftrain/tokenizer/unicode/properties.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

// Characters of one kind that follow one another are a word, but for those that stand alone.
enum class PlainKind { kSpace, kWord, kOther, kAlone };

PlainKind kind_of(PlainCut::Words words, char32_t c) {
  if (words == PlainCut::Words::kWordsAndOthers) {
    if (unicode::is_word(c)) return PlainKind::kWord;
    return unicode::is_white_space(c) ? PlainKind::kSpace : PlainKind::kOther;
  }
  if (unicode::is_white_space(c)) return PlainKind::kSpace;
  const bool alone = words == PlainCut::Words::kBert && unicode::is_punctuation(c);
  return alone ? PlainKind::kAlone : PlainKind::kWord;
}

void cut_words(PlainCut::Words words, PlainText& text) {
  const auto size = static_cast<uint32_t>(text.text.size());
  if (words == PlainCut::Words::kWhole) {
    if (size > 0) text.pieces.push_back({0, size});
    return;
  }
  PlainKind before = PlainKind::kSpace;
  uint32_t begin = 0;
  for (uint32_t i = 0; i < size; i += static_cast<uint32_t>(unicode::size_of(text.text[i]))) {
    const PlainKind kind = kind_of(words, unicode::decode(text.text.data() + i));
    if (kind == before && kind != PlainKind::kAlone) continue;
    if (before != PlainKind::kSpace) text.pieces.push_back({begin, i});
    begin = i;
    before = kind;
  }
  if (before != PlainKind::kSpace) text.pieces.push_back({begin, size});
}

// A word with its marks, cut in front of each.
void append_marked(const PlainCut::Marks& marks, const PlainText& text, PlainText::Range word,
                   PlainText& marked) {
  const std::string_view mark = marks.mark;
  auto begin = static_cast<uint32_t>(marked.text.size());
  const auto end_piece = [&] {
    const auto end = static_cast<uint32_t>(marked.text.size());
    if (begin < end) marked.pieces.push_back({begin, end});
    begin = end;
  };
  const auto is_mark = [&](uint32_t i) {
    return text.text[i] == ' ' || std::string_view(text.text).substr(i, word.end - i).starts_with(mark);
  };
  if (marks.prepend && !is_mark(word.begin)) marked.append(mark, text.origins[word.begin]);
  for (uint32_t i = word.begin; i < word.end;) {
    const auto size = static_cast<uint32_t>(unicode::size_of(text.text[i]));
    if (is_mark(i)) {
      end_piece();
      marked.append(mark, text.origins[i]);
    } else {
      marked.append(std::string_view(text.text).substr(i, size), text.origins[i]);
    }
    i += size;
  }
  end_piece();
}

}  // namespace

bool cut_plain(const PlainCut& cut, PlainText& text, PlainText& marked) {
  cut_words(cut.words, text);
  if (!cut.marks) return false;
  marked.clear();
  for (const PlainText::Range& word : text.pieces) append_marked(*cut.marks, text, word, marked);
  return true;
}

}  // namespace hftrain::tokenizer

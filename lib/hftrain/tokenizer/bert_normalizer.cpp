#include "hftrain/tokenizer/bert_normalizer.h"

#include <algorithm>
#include <string>
#include <vector>

#include "hftrain/tokenizer/unicode/properties.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

using unicode::Change;

// The blocks that count as Chinese.
bool is_chinese(char32_t c) {
  if (c < 0x3400) return false;
  return (c >= 0x4E00 && c <= 0x9FFF) || c <= 0x4DBF || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

bool stays(char32_t c) {
  return c != 0 && c != 0xFFFD && !unicode::is_bert_control(c);
}

char32_t cleaned(char32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || unicode::is_white_space(c) ? ' ' : c;
}

void surround_chinese(AlignedText& text) {
  std::vector<Change> changes;
  changes.reserve(text.text().size());
  const char* end = text.text().data() + text.text().size();
  for (const char* p = text.text().data(); p < end; p += unicode::size_of(*p)) {
    const char32_t c = unicode::decode(p);
    const bool chinese = is_chinese(c);
    if (chinese) changes.push_back({' ', 0});
    changes.push_back({c, chinese ? 1 : 0});
    if (chinese) changes.push_back({' ', 1});
  }
  text.transform(changes);
}

}  // namespace

void BertNormalizer::normalize(AlignedText& text) const {
  if (options_.clean_text) {
    text.filter(stays);
    text.map(cleaned);
  }
  if (!text.is_plain_ascii()) {
    if (options_.handle_chinese_chars) surround_chinese(text);
    if (options_.strip_accents) {
      text.transform(unicode::normalize(text.text(), unicode::NormalForm::kNfd));
      text.filter([](char32_t c) { return !unicode::is_bert_mark(c); });
    }
  }
  if (options_.lowercase) text.lowercase();
}

// Accents are sorted before they go. Nothing tells in what order they were as long as all go that are sorted.
bool BertNormalizer::keeps_apart(char32_t c) const {
  if (!options_.strip_accents) return true;
  std::string text;
  unicode::append(c, text);
  const std::vector<Change> parts = unicode::normalize(text, unicode::NormalForm::kNfd);
  return std::all_of(parts.begin(), parts.end(), [](const Change& part) {
    return unicode::combining_class(part.character) == 0 || unicode::is_bert_mark(part.character);
  });
}

std::shared_ptr<const Normalizer> read_bert_normalizer(const JsonPart& part) {
  BertOptions options;
  options.clean_text = part.at("clean_text").boolean();
  options.handle_chinese_chars = part.at("handle_chinese_chars").boolean();
  options.lowercase = part.at("lowercase").boolean();
  options.strip_accents = part.boolean("strip_accents", options.lowercase);
  return std::make_shared<BertNormalizer>(options);
}

}  // namespace hftrain::tokenizer

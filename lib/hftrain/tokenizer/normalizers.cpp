#include "hftrain/tokenizer/normalizers.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "hftrain/tokenizer/bert_normalizer.h"
#include "hftrain/tokenizer/byte_level.h"
#include "hftrain/tokenizer/metaspace.h"
#include "hftrain/tokenizer/pattern.h"
#include "hftrain/tokenizer/pattern_part.h"
#include "hftrain/tokenizer/precompiled_charsmap.h"
#include "hftrain/tokenizer/unicode/properties.h"
#include "hftrain/tokenizer/unicode/segments.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

using unicode::NormalForm;

class FormNormalizer : public Normalizer {
 public:
  explicit FormNormalizer(NormalForm form) : form_(form) {}
  void normalize(AlignedText& text) const override {
    if (!text.is_plain_ascii()) text.transform(unicode::normalize(text.text(), form_));
  }
  Shortcut shortcut() const override { return form_ == NormalForm::kNfc ? Shortcut::kNfc : Shortcut::kNone; }
  bool works_between_spaces() const override { return true; }
  bool keeps_apart(char32_t c) const override { return unicode::keeps_apart(c, form_); }

 private:
  NormalForm form_;
};

class LowercaseNormalizer : public Normalizer {
 public:
  void normalize(AlignedText& text) const override { text.lowercase(); }
  bool works_between_spaces() const override { return true; }
  bool keeps_apart(char32_t) const override { return true; }
};

// SentencePiece's rules for machine translation: controls vanish, odd spaces become plain ones.
class NmtNormalizer : public Normalizer {
 public:
  void normalize(AlignedText& text) const override {
    text.filter([](char32_t c) { return !is_control(c); });
    text.map([](char32_t c) { return is_space(c) ? U' ' : c; });
  }
  bool works_between_spaces() const override { return true; }
  bool keeps_apart(char32_t) const override { return true; }

 private:
  static bool is_control(char32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
           c == 0x9F;
  }
  static bool is_space(char32_t c) {
    return c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  }
};

class PrecompiledNormalizer : public Normalizer {
 public:
  explicit PrecompiledNormalizer(PrecompiledCharsmap charsmap) : charsmap_(std::move(charsmap)) {}
  void normalize(AlignedText& text) const override {
    std::vector<unicode::Change> changes;
    if (charsmap_.changes(text.text(), changes)) text.transform(changes);
  }
  bool works_between_spaces() const override { return !charsmap_.find(" "); }
  // One that vanishes is told of by the character before it.
  bool keeps_apart(char32_t c) const override {
    std::string text;
    unicode::append(c, text);
    return unicode::is_own_cluster(c) && charsmap_.find(text) != std::string_view();
  }

 private:
  PrecompiledCharsmap charsmap_;
};

class StripAccentsNormalizer : public Normalizer {
 public:
  void normalize(AlignedText& text) const override {
    text.filter([](char32_t c) { return !unicode::is_combining_mark(c); });
  }
  bool works_between_spaces() const override { return true; }
  bool keeps_apart(char32_t) const override { return true; }
};

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  void normalize(AlignedText& text) const override { text.strip(left_, right_); }

 private:
  bool left_, right_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}
  void normalize(AlignedText& text) const override { text.prepend(prefix_); }
  Shortcut shortcut() const override {
    return prefix_ == kSpaceMark ? Shortcut::kPrependSpaceMark : Shortcut::kNone;
  }

 private:
  std::string prefix_;
};

class ReplaceNormalizer : public Normalizer {
 public:
  // `literal`: the text that the pattern is; unset for a regular expression.
  ReplaceNormalizer(std::shared_ptr<const Pattern> pattern, std::optional<std::string> literal,
                    std::string content)
      : pattern_(std::move(pattern)), literal_(std::move(literal)), content_(std::move(content)) {}
  void normalize(AlignedText& text) const override { text.replace(pattern_->find(text.text()), content_); }
  Shortcut shortcut() const override {
    return literal_ == " " && content_ == kSpaceMark ? Shortcut::kSpaceMarks : Shortcut::kNone;
  }
  bool works_between_spaces() const override {
    return literal_ && literal_->find(' ') == std::string::npos && unicode::is_ascii(content_);
  }
  bool keeps_apart(char32_t c) const override {
    std::string text;
    unicode::append(c, text);
    return literal_ && literal_->find(text) == std::string::npos;
  }

 private:
  std::shared_ptr<const Pattern> pattern_;
  std::optional<std::string> literal_;
  std::string content_;
};

class ByteLevelNormalizer : public Normalizer {
 public:
  void normalize(AlignedText& text) const override {
    if (!text.empty()) text.transform(byte_level_changes(text.text()));
  }
};

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::shared_ptr<const Normalizer>> parts)
      : parts_(std::move(parts)) {}
  void normalize(AlignedText& text) const override {
    for (const auto& part : parts_) part->normalize(text);
  }
  Shortcut shortcut() const override {
    if (parts_.size() == 1) return parts_[0]->shortcut();
    const bool marks = parts_.size() == 2 && parts_[0]->shortcut() == Shortcut::kPrependSpaceMark &&
                       parts_[1]->shortcut() == Shortcut::kSpaceMarks;
    return marks ? Shortcut::kPrependSpaceMarkAndReplace : Shortcut::kNone;
  }
  bool works_between_spaces() const override {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const auto& part) { return part->works_between_spaces(); });
  }
  bool keeps_apart(char32_t c) const override {
    std::string original;
    unicode::append(c, original);
    AlignedText text(original);
    for (const auto& part : parts_) {
      if (!all_apart(*part, text.text())) return false;
      part->normalize(text);
    }
    return true;
  }

 private:
  static bool all_apart(const Normalizer& part, std::string_view text) {
    for (size_t i = 0; i < text.size(); i += unicode::size_of(text[i])) {
      if (!part.keeps_apart(unicode::decode(text.data() + i))) return false;
    }
    return true;
  }

  std::vector<std::shared_ptr<const Normalizer>> parts_;
};

std::shared_ptr<const Normalizer> read_precompiled(const JsonPart& part) {
  const JsonPart text = part.at("precompiled_charsmap");
  const auto bytes = decode_base64(text.text());
  if (!bytes) throw text.error("base64 is needed here");
  try {
    return std::make_shared<PrecompiledNormalizer>(PrecompiledCharsmap(*bytes));
  } catch (const std::invalid_argument& reason) {
    throw text.error(reason.what());
  }
}

std::shared_ptr<const Normalizer> read_sequence_normalizer(const JsonPart& part) {
  std::vector<std::shared_ptr<const Normalizer>> parts;
  for (const JsonPart& item : part.at("normalizers").items()) parts.push_back(read_normalizer(item));
  return std::make_shared<NormalizerSequence>(std::move(parts));
}

template <NormalForm form>
std::shared_ptr<const Normalizer> read_form(const JsonPart&) {
  return std::make_shared<FormNormalizer>(form);
}

template <typename Plain>
std::shared_ptr<const Normalizer> read_plain_normalizer(const JsonPart&) {
  return std::make_shared<Plain>();
}

std::shared_ptr<const Normalizer> read_strip_normalizer(const JsonPart& part) {
  return std::make_shared<StripNormalizer>(part.boolean("strip_left", true),
                                           part.boolean("strip_right", true));
}

std::shared_ptr<const Normalizer> read_prepend(const JsonPart& part) {
  return std::make_shared<PrependNormalizer>(part.text("prepend"));
}

std::shared_ptr<const Normalizer> read_replace_normalizer(const JsonPart& part) {
  const JsonPart pattern = part.at("pattern");
  std::optional<std::string> literal;
  if (pattern.has("String")) literal = pattern.text("String");
  return std::make_shared<ReplaceNormalizer>(read_pattern(pattern), std::move(literal), part.text("content"));
}

struct NormalizerKind {
  std::string_view type;
  std::shared_ptr<const Normalizer> (*read)(const JsonPart&);
};

constexpr NormalizerKind kNormalizerKinds[] = {
    {"Sequence", read_sequence_normalizer},
    {"NFC", read_form<NormalForm::kNfc>},
    {"NFD", read_form<NormalForm::kNfd>},
    {"NFKC", read_form<NormalForm::kNfkc>},
    {"NFKD", read_form<NormalForm::kNfkd>},
    {"Lowercase", read_plain_normalizer<LowercaseNormalizer>},
    {"StripAccents", read_plain_normalizer<StripAccentsNormalizer>},
    {"Nmt", read_plain_normalizer<NmtNormalizer>},
    {"BertNormalizer", read_bert_normalizer},
    {"Precompiled", read_precompiled},
    {"ByteLevel", read_plain_normalizer<ByteLevelNormalizer>},
    {"Strip", read_strip_normalizer},
    {"Prepend", read_prepend},
    {"Replace", read_replace_normalizer},
};

}  // namespace

std::shared_ptr<const Normalizer> read_normalizer(const JsonPart& part) {
  const std::string type =
      type_of(part, {{"BertNormalizer", {"clean_text", "handle_chinese_chars", "lowercase"}},
                     {"Strip", {"strip_left", "strip_right"}},
                     {"Sequence", {"normalizers"}},
                     {"Replace", {"pattern", "content"}},
                     {"Prepend", {"prepend"}}});
  for (const NormalizerKind& reader : kNormalizerKinds) {
    if (reader.type == type) return reader.read(part);
  }
  throw part.unsupported("the normalizer '" + type + "' is not known here");
}

}  // namespace hftrain::tokenizer

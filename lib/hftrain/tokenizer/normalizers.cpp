#include "hftrain/tokenizer/normalizers.h"

#include <algorithm>
#include <stdexcept>

#include "hftrain/tokenizer/byte_level.h"
#include "hftrain/tokenizer/metaspace.h"
#include "hftrain/tokenizer/pattern.h"
#include "hftrain/tokenizer/pattern_part.h"
#include "hftrain/tokenizer/unicode/properties.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

using unicode::NormalForm;

class FormNormalizer : public Normalizer {
 public:
  explicit FormNormalizer(NormalForm form) : form_(form) {}
  void normalize(AlignedText& text) const override { text.transform(unicode::normalize(text.text(), form_)); }
  Shortcut shortcut() const override { return form_ == NormalForm::kNfc ? Shortcut::kNfc : Shortcut::kNone; }
  bool works_between_spaces() const override { return true; }

 private:
  NormalForm form_;
};

class LowercaseNormalizer : public Normalizer {
 public:
  void normalize(AlignedText& text) const override { text.transform(unicode::lowercase(text.text())); }
  bool works_between_spaces() const override { return true; }
};

class StripAccentsNormalizer : public Normalizer {
 public:
  void normalize(AlignedText& text) const override {
    text.filter([](char32_t c) { return !unicode::is_combining_mark(c); });
  }
  bool works_between_spaces() const override { return true; }
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
  ReplaceNormalizer(std::shared_ptr<const Pattern> pattern, std::string content, bool replaces_spaces)
      : pattern_(std::move(pattern)), content_(std::move(content)), replaces_spaces_(replaces_spaces) {}
  void normalize(AlignedText& text) const override { text.replace(pattern_->find(text.text()), content_); }
  Shortcut shortcut() const override {
    return replaces_spaces_ && content_ == kSpaceMark ? Shortcut::kSpaceMarks : Shortcut::kNone;
  }

 private:
  std::shared_ptr<const Pattern> pattern_;
  std::string content_;
  bool replaces_spaces_;
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

 private:
  std::vector<std::shared_ptr<const Normalizer>> parts_;
};

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
  const bool spaces = pattern.has("String") && pattern.text("String") == " ";
  return std::make_shared<ReplaceNormalizer>(read_pattern(pattern), part.text("content"), spaces);
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
    {"ByteLevel", read_plain_normalizer<ByteLevelNormalizer>},
    {"Strip", read_strip_normalizer},
    {"Prepend", read_prepend},
    {"Replace", read_replace_normalizer},
};

}  // namespace

std::shared_ptr<const Normalizer> read_normalizer(const JsonPart& part) {
  const std::string type = part.text("type");
  for (const NormalizerKind& reader : kNormalizerKinds) {
    if (reader.type == type) return reader.read(part);
  }
  throw part.unsupported("the normalizer '" + type + "' is not known here");
}

}  // namespace hftrain::tokenizer

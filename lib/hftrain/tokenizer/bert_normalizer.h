// BERT's clean-up of text: controls vanish and white space becomes a space, Chinese characters get spaces
// around them, accents go, letters become small; each of these if asked for.
#pragma once

#include <memory>

#include "hftrain/tokenizer/json_part.h"
#include "hftrain/tokenizer/normalizers.h"

namespace hftrain::tokenizer {

struct BertOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(BertOptions options) : options_(options) {}
  void normalize(AlignedText& text) const override;
  bool works_between_spaces() const override { return true; }
  bool keeps_apart(char32_t c) const override;
  bool surrounds_han() const override { return options_.handle_chinese_chars; }

 private:
  BertOptions options_;
};

std::shared_ptr<const Normalizer> read_bert_normalizer(const JsonPart& part);

}  // namespace hftrain::tokenizer

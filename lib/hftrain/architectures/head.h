// What a model ends in: its head, which decides what it is trained for.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace hftrain::architectures {

enum class Head {
  kCausalLm,
  kMaskedLm,
  kSequenceClassification,
  kTokenClassification,
  kQuestionAnswering,
  kSeq2SeqLm,
  kImageClassification
};

// In the order of Head; what plans and messages call them.
inline constexpr std::array<std::string_view, 7> kHeadWords = {
    "causal_lm",          "masked_lm",  "sequence_classification", "token_classification",
    "question_answering", "seq2seq_lm", "image_classification",
};

constexpr std::string_view head_word(Head head) {
  return kHeadWords[static_cast<size_t>(head)];
}

// Nothing for a word that is none of kHeadWords.
constexpr std::optional<Head> head_named(std::string_view word) {
  for (size_t i = 0; i < kHeadWords.size(); ++i) {
    if (kHeadWords[i] == word) return static_cast<Head>(i);
  }
  return std::nullopt;
}

// Whether the head's size is a number of labels that the user's data give, and not the vocabulary's.
constexpr bool has_labels(Head head) {
  return head == Head::kSequenceClassification || head == Head::kTokenClassification ||
         head == Head::kImageClassification;
}

// Whether a model with this head looks at images and reads no text.
constexpr bool sees_images(Head head) {
  return head == Head::kImageClassification;
}

// Whether a model with this head generates text, and so has a generation_config.json.
constexpr bool generates(Head head) {
  return head == Head::kCausalLm || head == Head::kSeq2SeqLm;
}

}  // namespace hftrain::architectures

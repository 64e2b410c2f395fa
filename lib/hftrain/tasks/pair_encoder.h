// One text or a pair, and what is to be said of them: the encoder of sequence classification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "hftrain/data/encoder.h"
#include "hftrain/tasks/label_set.h"

namespace hftrain::tasks {

// Of the records: two texts, the second of which may be null, and the labels behind them.
inline constexpr size_t kFirstText = 0, kSecondText = 1, kLabelCell = 2;

struct PairEncoding {
  int64_t max_length = 0;  // tokens, with the special ones; what is longer is cut
  tokenizer::TruncationStrategy strategy = tokenizer::TruncationStrategy::kLongestFirst;
  bool label_columns = false;  // of LabelSet::kNumbers: a column for each, and not one of lists
  std::string hint;            // where a text is none
};

// Columns input_ids, token_type_ids and, where there are labels (test data may have none), labels.
std::unique_ptr<data::Encoder> pair_encoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                            const PairEncoding& encoding, std::optional<LabelSet> labels);

}  // namespace hftrain::tasks

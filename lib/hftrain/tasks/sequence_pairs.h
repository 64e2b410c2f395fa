// The rows of sequence to sequence: a text and what is to be made of it, as a summary beside it or as its
// translation in an object by language.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hftrain/data/records.h"
#include "hftrain/data/row_source.h"

namespace hftrain::tasks {

// Columns `text` and `summary` by name, else the first and the second; or, with languages, both texts in the
// object of the column `translation`.
struct PairColumns {
  std::optional<std::string> text, summary;
  std::string source_language, target_language;  // as the objects have them; empty: no translation

  bool translates() const { return !source_language.empty(); }
};

// "en" of "en_XX".
std::string language_key(const std::string& language);

// A column that is asked for and not there, or no second one: Error (exit code 4).
data::ColumnRule pair_columns(const PairColumns& wanted);

// A view that lives as long as the records.
struct SequencePair {
  std::string_view source, target;
};

// Of records that were read by that rule. Nothing for a row without a text or without a summary, which the
// script leaves out. No text where one belongs, a row without one of the languages: Error (exit code 4) with the
// place of the row.
std::optional<SequencePair> sequence_pair(const data::Records& records, size_t row,
                                          const PairColumns& wanted);

}  // namespace hftrain::tasks

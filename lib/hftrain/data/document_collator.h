// Batches of documents that do not see each other: samples that are packed of several, or whole batches in one row.
#pragma once

#include <memory>

#include "hftrain/data/collator.h"

namespace hftrain::data {

// The columns of `options` (kSequence and kMask, all as long as input_ids, padded behind), and `position_ids`: from 0 on in
// each document, and in the padding behind them. The first token of a document has no label, for nothing is before it
// that it could follow from. Documents are those of the column kDocumentLengths; without it every sample is one.
// `joins`: the samples stand one after another in one row, which alone is padded (to options.multiple).
std::unique_ptr<Collator> document_collator(PaddingOptions options, bool joins);

}  // namespace hftrain::data

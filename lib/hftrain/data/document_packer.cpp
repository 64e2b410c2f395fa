#include "hftrain/data/document_packer.h"

#include <utility>

#include "hftrain/data/block_packer.h"

namespace hftrain::data {

FeatureSchema packed_schema(FeatureSchema samples, const std::optional<PackingOptions>& packing) {
  if (packing && packing->keeps_documents()) samples.push_back({kDocumentLengths, FeatureType::kInteger});
  return samples;
}

DocumentPacker::DocumentPacker(const PackingOptions& options, size_t columns,
                               std::unique_ptr<FeatureSink> next)
    : options_(options), next_(std::move(next)) {
  held_.columns.resize(columns);
}

void DocumentPacker::add(const Features& features) {
  size_t begin = 0;
  for (size_t sample = 0; sample < features.columns.front().lengths.size() && !full(); ++sample) {
    add_sample(features, sample, begin);
    begin += static_cast<size_t>(features.columns.front().lengths[sample]);
    if (held_.columns.front().lengths.size() == static_cast<size_t>(kRowsPerGroup)) pack();
  }
}

void DocumentPacker::add_sample(const Features& features, size_t sample, size_t begin) {
  const auto length = static_cast<size_t>(features.columns.front().lengths[sample]);
  tokens_seen_ += static_cast<int64_t>(length);
  for (size_t column = 0; column < held_.columns.size(); ++column)
    held_.columns[column].add_sequence(std::span(features.columns[column].integers).subspan(begin, length));
}

void DocumentPacker::finish() {
  pack();
  next_->finish();
}

void DocumentPacker::pack() {
  const std::vector<int32_t>& lengths = held_.columns.front().lengths;
  std::vector<size_t> begins(lengths.size());
  for (size_t i = 1; i < lengths.size(); ++i) begins[i] = begins[i - 1] + static_cast<size_t>(lengths[i - 1]);
  Features packed{.columns = std::vector<FeatureValues>(held_.columns.size())};
  FeatureValues documents;
  for (const PackedSequence& sequence : packed_sequences(lengths, options_.longest, options_.strategy)) {
    int32_t total = 0;
    for (const PackedPiece& piece : sequence) {
      const size_t begin = begins[static_cast<size_t>(piece.sample)] + static_cast<size_t>(piece.begin);
      for (size_t column = 0; column < held_.columns.size(); ++column) {
        const auto numbers =
            std::span(held_.columns[column].integers).subspan(begin, static_cast<size_t>(piece.length));
        std::vector<int32_t>& joined = packed.columns[column].integers;
        joined.insert(joined.end(), numbers.begin(), numbers.end());
      }
      documents.integers.push_back(static_cast<int32_t>(piece.length));
      total += static_cast<int32_t>(piece.length);
    }
    for (size_t column = 0; column < held_.columns.size(); ++column)
      packed.columns[column].lengths.push_back(total);
    documents.lengths.push_back(static_cast<int32_t>(sequence.size()));
  }
  if (options_.keeps_documents()) packed.columns.push_back(std::move(documents));
  next_->add(packed);
  for (FeatureValues& column : held_.columns) column = FeatureValues();
}

}  // namespace hftrain::data

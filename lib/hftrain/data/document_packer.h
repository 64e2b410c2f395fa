// Samples joined to sequences of about one length, which remember where each of them begins.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "hftrain/data/feature_sink.h"
#include "hftrain/data/packing.h"

namespace hftrain::data {

// The column of the lengths of the documents that a sequence is joined of. Their numbers follow one another. Sequences
// that are one stream of tokens have none: each of them is a document.
inline constexpr const char* kDocumentLengths = "seq_lengths";

// How the samples of a split are packed.
struct PackingOptions {
  PackingStrategy strategy = PackingStrategy::kBestFit;
  int64_t longest = 1024;  // tokens of a sequence

  bool keeps_documents() const { return strategy != PackingStrategy::kWrapped; }
};

// The columns of samples with these, where a split is packed so.
FeatureSchema packed_schema(FeatureSchema samples, const std::optional<PackingOptions>& packing);

// Packs every kRowsPerGroup samples for themselves, as datasets.map gives them to TRL. Used by one thread; holds so many
// samples.
class DocumentPacker final : public FeatureSink {
 public:
  // Features have `columns` columns of one length each; `next` gets those of packed_schema.
  DocumentPacker(const PackingOptions& options, size_t columns, std::unique_ptr<FeatureSink> next);

  void add(const Features& features) override;
  void end_group() override {}
  void finish() override;
  bool full() const override { return next_->full(); }
  bool at_rest() const override { return held_.columns.front().lengths.empty() && next_->at_rest(); }
  int64_t tokens_seen() const override { return tokens_seen_; }

 private:
  void add_sample(const Features& features, size_t sample, size_t begin);
  void pack();

  PackingOptions options_;
  std::unique_ptr<FeatureSink> next_;
  Features held_;
  int64_t tokens_seen_ = 0;
};

}  // namespace hftrain::data

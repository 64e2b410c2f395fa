// Where encoded rows go: into blocks (block_packer.h) or, each feature as it is, into samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/data/features.h"
#include "hftrain/data/sequence_writer.h"

namespace hftrain::data {

// Used by one thread.
class FeatureSink {
 public:
  virtual ~FeatureSink() = default;
  virtual void add(const Features& features) = 0;
  // A group of rows is over.
  virtual void end_group() = 0;
  // No further rows will come.
  virtual void finish() {}
  // All samples that were asked for are there: further rows cannot change the result.
  virtual bool full() const = 0;
  // It holds nothing of the rows that it has got: further samples are of further rows alone.
  virtual bool at_rest() const = 0;
  virtual int64_t tokens_seen() const = 0;  // input_ids, whether they became part of a sample or not
};

// PREFIX.bin of a column: of input_ids PREFIX itself, of others beside it with their name.
std::string column_prefix(const std::string& prefix, const std::string& column);

// Every feature is a sample, up to `max_samples`.
class RowKeeper final : public FeatureSink {
 public:
  // One writer a column, in the order of the schema; they outlive this.
  RowKeeper(const FeatureSchema& schema, std::vector<SequenceWriter*> writers,
            std::optional<int64_t> max_samples)
      : schema_(schema), writers_(std::move(writers)), max_samples_(max_samples) {}

  void add(const Features& features) override;
  void end_group() override {}
  bool full() const override { return max_samples_ && writers_.front()->sequences() >= *max_samples_; }
  bool at_rest() const override { return true; }
  int64_t tokens_seen() const override { return writers_.front()->tokens(); }

 private:
  void add_column(size_t column, const FeatureValues& values, size_t features);

  const FeatureSchema& schema_;
  std::vector<SequenceWriter*> writers_;
  std::optional<int64_t> max_samples_;
};

}  // namespace hftrain::data

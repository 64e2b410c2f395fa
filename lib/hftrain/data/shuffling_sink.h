// Samples in another order: that of datasets' shuffle(seed).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/data/column_writer.h"
#include "hftrain/data/feature_sink.h"

namespace hftrain::data {

// Keeps all samples in files until the last is there, and then hands them on. Used by one thread.
class ShufflingSink final : public FeatureSink {
 public:
  // Writes files that begin with `prefix` and removes them. Columns are of whole numbers; `vocabulary`: ids are of 0 to
  // below it. After `max_samples` of them no further one is taken. `stop`: true ends finish() before its end; null: nothing does.
  ShufflingSink(FeatureSchema schema, std::string prefix, int64_t vocabulary, uint64_t seed,
                std::optional<int64_t> max_samples, const std::atomic<bool>* stop,
                std::unique_ptr<FeatureSink> next);
  ~ShufflingSink() override;

  void add(const Features& features) override { keeper_->add(features); }
  void end_group() override {}
  void finish() override;
  bool full() const override { return keeper_->full(); }
  bool at_rest() const override { return false; }  // before the last row
  int64_t tokens_seen() const override { return keeper_->tokens_seen(); }

 private:
  FeatureSchema schema_;
  std::string prefix_;
  uint64_t seed_;
  const std::atomic<bool>* stop_;
  std::vector<std::unique_ptr<ColumnWriter>> writers_;
  std::unique_ptr<RowKeeper> keeper_;
  std::unique_ptr<FeatureSink> next_;
};

}  // namespace hftrain::data

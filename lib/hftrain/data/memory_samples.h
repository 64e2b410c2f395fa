// Samples in memory, as a data set that collators know: those of one round of a stream.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/data/dataset.h"
#include "hftrain/data/features.h"
#include "hftrain/data/sequence_writer.h"

namespace hftrain::data {

struct MemorySample {
  int64_t number = 0;  // in its epoch: collators and messages know it by this
  // By column, in the order of the schema; of whole numbers. Shared: a sample may stand in several rounds.
  std::shared_ptr<const std::vector<std::vector<int32_t>>> columns;
};

// Sequences that a sink makes, until they are taken. Columns are of whole numbers.
class MemoryWriter final : public SequenceWriter {
 public:
  // `before`: sequences that count as added, which nobody keeps.
  explicit MemoryWriter(int64_t before = 0) : sequences_(before) {}

  void add(std::span<const int32_t> sequence) override;
  void add(std::span<const float> sequence) override;  // Error (exit code 1)
  int64_t sequences() const override { return sequences_; }
  int64_t tokens() const override { return tokens_; }
  std::vector<std::vector<int32_t>> take() { return std::exchange(held_, {}); }

 private:
  std::vector<std::vector<int32_t>> held_;
  int64_t sequences_, tokens_ = 0;
};

// Samples under their numbers; others are not there. Numbers rise. `columns`: their names.
std::shared_ptr<const Dataset> dataset_of(const std::vector<std::string>& columns,
                                          const std::vector<MemorySample>& samples);

}  // namespace hftrain::data

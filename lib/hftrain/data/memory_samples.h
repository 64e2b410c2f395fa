// Samples in memory, as a data set that collators know: those of one round of a stream.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hftrain/data/dataset.h"
#include "hftrain/data/features.h"
#include "hftrain/data/sequence_writer.h"

namespace hftrain::data {

// Of one column: whole numbers, or floats where its type in the schema is kFloat.
using MemorySequence = std::variant<std::vector<int32_t>, std::vector<float>>;

struct MemorySample {
  int64_t number = 0;  // in its epoch: collators and messages know it by this
  // By column, in the order of the schema. Shared: a sample may stand in several rounds.
  std::shared_ptr<const std::vector<MemorySequence>> columns;
};

// Sequences that a sink makes, until they are taken.
class MemoryWriter final : public SequenceWriter {
 public:
  // `before`: sequences that count as added, which nobody keeps.
  explicit MemoryWriter(int64_t before = 0) : sequences_(before) {}

  void add(std::span<const int32_t> sequence) override { keep(sequence); }
  void add(std::span<const float> sequence) override { keep(sequence); }
  int64_t sequences() const override { return sequences_; }
  int64_t tokens() const override { return tokens_; }
  std::vector<MemorySequence> take() { return std::exchange(held_, {}); }

 private:
  template <typename Number>
  void keep(std::span<const Number> sequence) {
    held_.emplace_back(std::vector<Number>(sequence.begin(), sequence.end()));
    ++sequences_;
    tokens_ += static_cast<int64_t>(sequence.size());
  }

  std::vector<MemorySequence> held_;
  int64_t sequences_, tokens_ = 0;
};

// Samples under their numbers; others are not there. Numbers rise. `columns`: their names.
std::shared_ptr<const Dataset> dataset_of(const std::vector<std::string>& columns,
                                          const std::vector<MemorySample>& samples);

}  // namespace hftrain::data

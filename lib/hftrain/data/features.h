// What the rows of a task become: named columns of numbers, one sequence of each for every feature.
//
// A row may give several features (the windows of a long context) or none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hftrain::data {

// The column that every task has. In the cache it lies where token files always lay: PREFIX.bin and .idx.
inline constexpr const char* kInputIds = "input_ids";

enum class FeatureType {
  kTokenIds,  // whole numbers from 0 to below the vocabulary
  kInteger,   // int32
  kByte,      // 0 to 255: text as UTF-8, such as the path of a file
  kFloat,     // float32
};

struct FeatureColumn {
  std::string name;
  FeatureType type = FeatureType::kTokenIds;
};
using FeatureSchema = std::vector<FeatureColumn>;

// Of one column the sequences of some features, one after another.
struct FeatureValues {
  std::vector<int32_t> integers;  // of columns of whole numbers
  std::vector<float> floats;      // of the others
  std::vector<int32_t> lengths;   // of the sequences

  void add_sequence(std::span<const int32_t> numbers) {
    integers.insert(integers.end(), numbers.begin(), numbers.end());
    lengths.push_back(static_cast<int32_t>(numbers.size()));
  }
};

// In the order of a FeatureSchema; all columns have as many lengths. Those of a task that joins its rows
// (packing) may be left out.
struct Features {
  std::vector<FeatureValues> columns;
};

}  // namespace hftrain::data

// Typed reading of a completed config and the range checks that every family shares.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"

namespace hftrain::architectures {

// A row of a table of `rows` as torch.nn.Embedding counts it: from the end where it is negative; nothing for one that is not there.
std::optional<int64_t> row_of_table(int64_t value, int64_t rows);

// Collects all mistakes of one config; finish() throws them together (exit code 4).
class ConfigValues {
 public:
  ConfigValues(const Json& config, std::string origin) : config_(config), origin_(std::move(origin)) {}

  // Keys of the family have their type already; one of another family that is honoured may have any.
  template <typename T>
  T get(const char* key) const {
    try {
      return config_.at(key).get<T>();
    } catch (const Json::exception& error) {
      throw Error(ExitCode::kData, std::string(key) + " has a value of another kind than it must")
          .where(origin_)
          .why(error.what())
          .hint("correct that key as the family's config.json has it");
    }
  }
  // A size: 1 or more, and no more than `most`, so that a damaged file does not ask for all memory.
  static constexpr int64_t kLargestSize = std::numeric_limits<int32_t>::max(), kMostLayers = 10'000;
  int64_t positive(const char* key, int64_t most = kLargestSize);
  // row_of_table(), or nothing for null.
  std::optional<int64_t> row(const char* key, int64_t rows);
  // A share in [0, 1).
  double dropout(const char* key);
  // A number that is finite and 0 or more: of a norm, or the spread of what is drawn.
  double from_zero(const char* key);
  // One of the activations that models/ implements.
  std::string activation(const char* key);
  void refuse(const std::string& what, const std::string& why = "");
  // transformers hands is_causal of a config to every attention of a model, which then sees what its family's does not.
  void require_causal();         // decoders
  void require_bidirectional();  // encoders
  void require_no_is_causal();   // an encoder with a decoder: one value cannot be that of both
  void require_multiple(const char* key, int64_t value, const char* of_key, int64_t of);
  void finish();

 private:
  const Json& config_;
  std::string origin_;
  std::vector<Diagnostic> mistakes_;
};

}  // namespace hftrain::architectures

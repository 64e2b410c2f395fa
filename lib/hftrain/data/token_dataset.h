// A prepared split: token blocks in a memory-mapped .bin/.idx pair (the Megatron layout).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace hftrain::data {

// Read-only, thread-safe. Blocks are labels and inputs at once (causal language modelling).
class TokenDataset {
 public:
  virtual ~TokenDataset() = default;
  // Opens PREFIX.bin and PREFIX.idx, of any integer type; checks magic, version and sizes in constant time.
  // Errors carry exit code 4.
  static std::unique_ptr<TokenDataset> open(const std::string& prefix);

  virtual int64_t size() const = 0;                  // number of samples
  virtual int64_t length(int64_t sample) const = 0;  // tokens in that sample
  // Copies the sample's ids, widened to int64, to `target`, which has room for length(sample) numbers.
  // A sample that lies outside the .bin file is an error (exit code 4).
  virtual void copy_to(int64_t sample, int64_t* target) const = 0;
};

}  // namespace hftrain::data

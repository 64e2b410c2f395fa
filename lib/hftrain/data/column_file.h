// One column of a prepared split: sequences of numbers in a memory-mapped .bin/.idx pair (the Megatron
// layout).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace hftrain::data {

// Read-only, thread-safe.
class ColumnFile {
 public:
  virtual ~ColumnFile() = default;
  // Opens PREFIX.bin and PREFIX.idx, of any integer type or of float32; checks magic, version and sizes in
  // constant time. Errors carry exit code 4.
  static std::unique_ptr<ColumnFile> open(const std::string& prefix);

  virtual int64_t size() const = 0;                  // number of samples
  virtual int64_t length(int64_t sample) const = 0;  // numbers in that sample
  virtual bool floats() const = 0;                   // else whole numbers
  // Copies the sample's whole numbers, widened to int64, or its floats to `target`, which has room for
  // length(sample) of them. A sample that lies outside the .bin file, or whose numbers are of the other kind,
  // is an error (exit code 4).
  virtual void copy_to(int64_t sample, int64_t* target) const = 0;
  virtual void copy_to(int64_t sample, float* target) const = 0;
};

}  // namespace hftrain::data

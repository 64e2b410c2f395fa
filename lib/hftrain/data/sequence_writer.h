// Where the sequences of one column go: into a file of the cache, or into memory.
#pragma once

#include <cstdint>
#include <span>

namespace hftrain::data {

// Used by one thread.
class SequenceWriter {
 public:
  virtual ~SequenceWriter() = default;
  virtual void add(std::span<const int32_t> sequence) = 0;
  virtual void add(std::span<const float> sequence) = 0;  // where the column is of such
  virtual int64_t sequences() const = 0;                  // added so far
  virtual int64_t tokens() const = 0;                     // numbers in all of them
};

}  // namespace hftrain::data

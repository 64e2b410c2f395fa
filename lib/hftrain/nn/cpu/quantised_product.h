// Products of one row with a matrix of 8-bit numbers, for processors with AVX-512-VNNI: a quarter of what a float32 matrix takes to be
// read, and all but the time of reading. They are near the true product, no more: for what is checked afterwards.
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hftrain/nn/cpu/sgemm.h"

namespace hftrain::nn::cpu {

// Whether this processor has what these products need.
bool has_quantised_product();

// A row of K numbers as whole ones times `scale`: number = 128·high + low. Their error is at most 1/32512 of the largest.
struct QuantisedRow {
  explicit QuantisedRow(const float* numbers, int64_t count);

  std::vector<int8_t> high, low;  // filled up with zeros to a multiple of 4
  int32_t sum_high = 0, sum_low = 0;
  float scale = 0;
};

// A copy of a float32 matrix [K, N]: each column in whole numbers from −127 to 127 times its own scale. Columns stand in groups of 64, so
// that threads share them out. Used by many threads once it is made; only where has_quantised_product().
class QuantisedMatrix {
 public:
  static constexpr int64_t kGroup = 64;          // columns
  static constexpr int64_t kMostInner = 60'000;  // for whose sums 32 bits are enough

  // With its memory alone; pack() fills it. `inner` is at most kMostInner.
  QuantisedMatrix(int64_t inner, int64_t columns);
  int64_t groups() const { return (columns_ + kGroup - 1) / kGroup; }
  // One group, of the matrix that this is a copy of.
  void pack(const MatrixView& matrix, int64_t group);
  // out[j] = Σ_k row(k)·matrix(k, j) + (bias ? bias[j] : 0), or added to what is in `out` with `add`, for the columns of the groups
  // [begin, end).
  void multiply(const QuantisedRow& row, const float* bias, bool add, float* out, int64_t begin,
                int64_t end) const;

 private:
  int64_t quads() const { return (inner_ + 3) / 4; }
  int64_t group_bytes() const { return quads() * 4 * kGroup; }
  uint8_t* numbers_of(int64_t group) const {
    return static_cast<uint8_t*>(numbers_.get()) + group * group_bytes();
  }

  int64_t inner_, columns_;
  // Groups one after another; of each, four numbers of the inner dimension of each column beside each other, 128 more than they are:
  // the instruction multiplies numbers without a sign with ones that have it.
  c10::DataPtr numbers_;  // of the allocator of CPU tensors, which knows how large blocks are read quickest
  std::vector<float> scales_;  // of the columns, whole groups
};

}  // namespace hftrain::nn::cpu

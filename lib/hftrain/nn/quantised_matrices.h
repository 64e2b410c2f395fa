// Copies of a model's matrices in 8 bits, for readings that only foresee what the model will say (generation/drafts.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>
#include <unordered_map>

#include "hftrain/nn/cpu/quantised_product.h"

namespace hftrain::nn {

// Used by one thread; its products are shared out among LibTorch's.
class QuantisedMatrices {
 public:
  // Of those of `parameters` that are worth a copy: float32 matrices on the CPU. They must not change while this lives. No copy
  // is made before its first product.
  explicit QuantisedMatrices(std::span<const at::Tensor> parameters);
  QuantisedMatrices(const QuantisedMatrices&) = delete;
  QuantisedMatrices& operator=(const QuantisedMatrices&) = delete;

  // Whether this processor multiplies them.
  static bool available() { return cpu::has_quantised_product(); }
  bool has_copies() const { return !copies_.empty(); }

  // out [1, N] = row [1, K]·matrix [K, N] (+ bias), or added to `out`, where `matrix` is one of these or a part of one, either way
  // up; otherwise false, and nothing is done.
  bool multiply(at::Tensor& out, const at::Tensor& row, const at::Tensor& matrix, const float* bias,
                bool add);

 private:
  struct Place {
    const void* data;
    int64_t rows, columns, row_stride, column_stride;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    size_t operator()(const Place& place) const;
  };

  const cpu::QuantisedMatrix* find(const at::Tensor& matrix);

  std::unordered_map<const void*, at::Tensor> parameters_;  // by the memory in which they lie
  std::unordered_map<Place, cpu::QuantisedMatrix, PlaceHash> copies_;
};

// While one lives, this thread multiplies single rows with these matrices' copies, within NarrowProducts (product.h).
class QuantisedProducts {
 public:
  explicit QuantisedProducts(QuantisedMatrices& matrices);
  QuantisedProducts(const QuantisedProducts&) = delete;
  QuantisedProducts& operator=(const QuantisedProducts&) = delete;
  ~QuantisedProducts();

 private:
  QuantisedMatrices* before_;
};
QuantisedMatrices* quantised_in_use();

}  // namespace hftrain::nn

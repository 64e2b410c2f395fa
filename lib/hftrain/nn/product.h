// Products of two matrices by whoever is quickest.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "hftrain/nn/kernels.h"

namespace hftrain::nn {

// While one lives, this thread takes narrow products (cpu/narrow_product.h) where there are few rows: for the next tokens of
// texts. A row of such a product does not depend on the others. Never while gradients are recorded.
class NarrowProducts {
 public:
  NarrowProducts();
  NarrowProducts(const NarrowProducts&) = delete;
  NarrowProducts& operator=(const NarrowProducts&) = delete;
  ~NarrowProducts();

 private:
  bool before_;
};
bool takes_narrow_products();
// Whether multiply, multiply_into and add_product take one for these, whatever their `products` says.
bool is_narrow(const at::Tensor& left, const at::Tensor& right);

// Whether this processor's products of bfloat16 are ours: made of what is rounded on its way (cpu/bgemm.h), or of what is widened
// (widened.h).
bool has_bfloat16_products();

// Whether a product of `x` takes this float32 matrix as it is and rounds it to bfloat16 on its way into the processor, where
// has_bfloat16_products(): nobody has to keep a second copy of it.
bool rounds_on_the_way(const at::Tensor& x, const at::Tensor& matrix);

// left [M, K]·right [K, N] (+ bias [N] unless it is undefined): a new tensor [M, N]. Autograd follows it where it is ATen's: with kAten,
// of one dtype, and not bfloat16 where has_bfloat16_products(). Of a float32 and a bfloat16 matrix it is the product of both as bfloat16. `dtype`: of the result,
// otherwise that of the narrower one; a wider one may be rounded to that on its way.
at::Tensor multiply(const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias,
                    Products products, std::optional<at::ScalarType> dtype = std::nullopt);

// The same into `out` [M, N], whose rows are contiguous.
void multiply_into(at::Tensor& out, const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias,
                   Products products);

// out += left·right.
void add_product(at::Tensor& out, const at::Tensor& left, const at::Tensor& right, Products products);

}  // namespace hftrain::nn

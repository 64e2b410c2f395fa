// bfloat16 on processors for which LibTorch has only loops of its own to multiply it (x86 without AVX-512), many times slower than
// float32 (docs/benchmarks.md). There operands are widened to float32, multiplied as those, and the result is rounded once: no sum is
// narrower than LibTorch's.
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::nn {

// Whether this processor is such a one, as LibTorch says it. The same in every process of a machine.
bool widens_bfloat16();

// left [M, K]·right [K, N] (+ bias [N] unless it is undefined) into `out` [M, N], or added to what is in `out` with `add`. Each is
// float32 or bfloat16, on the CPU; of float32 operands what they are as bfloat16 is multiplied. Widened copies are held of the
// smaller operand and of a strip of the other. Records no gradient.
void widened_product(at::Tensor& out, const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias,
                     bool add);

}  // namespace hftrain::nn

// The CPU's kernels of nn/ops.h: tensors in, loops of the other files of this folder over threads, tensors
// out.
#pragma once

namespace torch {
class Library;
}

namespace hftrain::nn::cpu {

// Registers all of them.
void register_operators(torch::Library& library);

}  // namespace hftrain::nn::cpu

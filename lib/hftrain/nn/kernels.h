// Which form of an operator runs.
#pragma once

namespace hftrain::nn {

// kFused: one pass over memory with a hand-written backward, where one exists for the device and the dtype
// (kernel_table() in ops.h); else, and always with kReference, the composition of ATen operators. Both forms
// are held to one test.
enum class Kernels { kFused, kReference };

}  // namespace hftrain::nn

// Which form of an operator runs.
#pragma once

namespace hftrain::nn {

// kFused: one pass over memory with a hand-written backward, where one exists for the device and the dtype
// (kernel_table() in ops.h); else, and always with kReference, the composition of ATen operators. kComposed: what is
// fused by composition alone (the last matrix with its loss, products that share an input, a device's rotary positions), no kernel of
// ours, and a call of attention for each document of a packed row. A device's RMS norm is LibTorch's kernel where it is none of ours,
// but with kReference.
// All forms are held to one test.
enum class Kernels { kFused, kReference, kComposed };

// The forms of a model's operators: of those that may be chosen alone, and of all others (`rest`: projections, plain
// activations).
struct KernelChoice {
  // NOLINTNEXTLINE(google-explicit-constructor): one word for all
  constexpr KernelChoice(Kernels all = Kernels::kFused)
      : rope(all), swiglu(all), geglu(all), rms_norm(all), loss(all), rest(all) {}

  Kernels rope, swiglu, geglu, rms_norm;
  Kernels loss;  // with the product before it
  Kernels rest;
};

// Who multiplies matrices. kAten: LibTorch, on every machine. kQuickest: where it is quicker (float32, AMD's processors with
// AVX-512, products that are worth it) cpu/sgemm.h, else LibTorch. The two add in another order.
enum class Products { kAten, kQuickest };

}  // namespace hftrain::nn

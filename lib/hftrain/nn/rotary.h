// Rotary position embeddings: the two halves of a head turn together.
#pragma once

#include <ATen/core/Tensor.h>

#include "hftrain/nn/kernels.h"

namespace hftrain::nn {

enum class RotaryScaling { kNone, kLinear, kBanded, kYarn };

struct RotarySetting {
  double theta = 10000.0;
  RotaryScaling scaling = RotaryScaling::kNone;
  double factor = 1.0, low_freq_factor = 1.0, high_freq_factor = 4.0;  // the latter two of kBanded
  int64_t original_max_position = 8192;                                // of kBanded and kYarn
  double beta_fast = 32.0, beta_slow = 1.0, attention_factor = 1.0;    // of kYarn
  bool truncate = true;                                                // of kYarn
};

// cos and sin of position·frequency, times the attention factor, each [length, head_dim/2], float32.
struct RotaryTables {
  at::Tensor cos, sin;
  int64_t length() const { return cos.defined() ? cos.size(0) : 0; }
  // Those of `count` positions from `first` on.
  RotaryTables part(int64_t first, int64_t count) const {
    return {cos.narrow(0, first, count), sin.narrow(0, first, count)};
  }
};

RotaryTables make_rotary_tables(const RotarySetting& setting, int64_t head_dim, int64_t length,
                                at::Device device);

// x [B, T, H, d], positions 0 … T − 1 (T <= tables.length()):
// (x₁·cos − x₂·sin, x₂·cos + x₁·sin) with x₁ and x₂ the halves of d. The reference casts cos and sin to x's dtype; kernels read
// them in float32.
at::Tensor rotate(const at::Tensor& x, const RotaryTables& tables, Kernels kernels);

// What rotate() is on a device without a kernel of ours: its gradient is turned back, by as many passes over memory (five). A CPU
// computes the same by more of them.
at::Tensor rotate_on_device(const at::Tensor& x, const RotaryTables& tables);

// The rows of `tables` at `positions` [B, T], int64: [B·T, d/2].
RotaryTables tables_at(const RotaryTables& tables, const at::Tensor& positions);

// rotate() of tokens of which each has a row of its own: `own` as tables_at() gives it.
at::Tensor rotate_each(const at::Tensor& x, const RotaryTables& own, Kernels kernels);

}  // namespace hftrain::nn

// Softmax cross-entropy of one row of logits, in place.
#pragma once

#include <cstdint>

namespace hftrain::nn::cpu {

struct CrossEntropyRow {
  int64_t vocab = 0;
  float smoothing = 0;  // ε
  float scale = 1;      // multiplies the gradient
};

// Returns (1 − ε)·(−log p[label]) + ε·mean(−log p) and replaces the logits by scale·∂/∂logits.
float cross_entropy_with_gradient(float* logits, int64_t label, const CrossEntropyRow& row);

// The loss alone; the logits stay.
float cross_entropy(const float* logits, int64_t label, const CrossEntropyRow& row);

// bfloat16 as its bits: a row of logits is widened into memory that the processor holds, and its gradient rounded back.
void widen(const uint16_t* source, float* target, int64_t n);
void round_to_bfloat16(const float* source, uint16_t* target, int64_t n);

}  // namespace hftrain::nn::cpu

// The random numbers of sampling. Each is a function of the seed, the text it is for and its place there, so that a text
// does not depend on the size of the batch, on the ranks or on what else was generated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hftrain::generation {

struct DrawKey {
  uint64_t seed = 0;
  uint64_t text = 0;    // the number of the prompt and, of several texts for it, which
  uint64_t step = 0;    // tokens generated before
  uint64_t number = 0;  // of several draws for one step
};

// In (0, 1), never an end of it.
double uniform(const DrawKey& key);

// A token drawn by softmax(scores); −∞ is never drawn. Where none is finite, or one is ∞, an Error (exit code 4), as below.
int64_t draw_token(std::span<const float> scores, const DrawKey& key);

// `count` positions drawn by softmax(scores) without putting back, in the order of drawing (the largest of scores plus
// Gumbel noise; Kool et al. 2019). `count` at most the size.
std::vector<int64_t> draw_without_replacement(std::span<const float> scores, size_t count,
                                              const DrawKey& key);

}  // namespace hftrain::generation

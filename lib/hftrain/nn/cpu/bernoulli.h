// The draws of at::Tensor::bernoulli_ on a CPU, in bytes and some ten times as fast.
//
// ATen draws an element with two words of its generator, a Mersenne twister (M. Matsumoto, T. Nishimura 1998), one after
// the other through a virtual call; on Intel's processors it has MKL draw instead, which is fast. Here the twister's
// words are made a block at a time by loops that vectorise, and the generator is left where ATen would have left it.
#pragma once

#include <ATen/core/MT19937RNGEngine.h>

#include <cstdint>

namespace hftrain::nn::cpu {

// out[i] = 1 with probability p, else 0: the bits of the ATen kernel that draws by `engine`, which moves on.
void draw_bernoulli(at::mt19937& engine, double p, uint8_t* out, int64_t count);

// The same from LibTorch's default generator of the CPU, in the way that this machine's ATen draws. Any thread; the
// generator is locked.
void draw_bernoulli(double p, uint8_t* out, int64_t count);

}  // namespace hftrain::nn::cpu

// What attention on a GPU has to know of the kernels that LibTorch 2.11 chooses among: flash, then the memory-efficient one, then a
// composition that keeps all scores; cuDNN's before them where the device is of compute capability 9 or 10.
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::nn {

// Whether cuDNN's kernels are wrong for what these queries ask. They know probabilities of dropout in steps of 1/16 alone, and 2.11.0
// does not ask before it rounds (pytorch#174245 does). Where not every query is hidden from the keys behind it, gradients are no numbers
// where a row's scores are all far below zero and it has 64 keys more than a multiple of 128 (cuDNN 9.19, which the wheel brings:
// pytorch#196678, cudnn-frontend#628), or one query (cudnn-frontend#1072).
bool needs_other_kernels(const at::Tensor& query, double dropout, bool masked, bool causal);

// While it lives, where `needed` says so, cuDNN's kernels are not taken: where they are wrong, and for rows of many lengths, as each shape
// has a plan that is built when it comes up first (pytorch#155958). The switch is the process's: for the one thread that hands attention
// to a device, and never touched where it is not needed.
class WithoutCuDnn {
 public:
  explicit WithoutCuDnn(bool needed);
  ~WithoutCuDnn();
  WithoutCuDnn(const WithoutCuDnn&) = delete;
  WithoutCuDnn& operator=(const WithoutCuDnn&) = delete;

 private:
  bool taken_away_;
};

// Keys or values [B, K, S, d] for `heads` heads of queries: [B, heads, S, d], each head as often as it serves, where the kernel that
// is left knows no groups (the memory-efficient one before pytorch#191085, which is taken for float32 and beside a mask);
// else, and on a CPU, as they are.
at::Tensor heads_for_kernel(const at::Tensor& x, int64_t heads, bool masked);

}  // namespace hftrain::nn

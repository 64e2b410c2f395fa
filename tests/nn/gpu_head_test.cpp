// The head's loss on a GPU over as many rows and words as are taken in several chunks, which the table of operators is too small for.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <vector>

#include "hftrain/nn/head_loss.h"
#include "nn/gpu.h"
#include "support/catch.h"
#include "support/skip.h"

namespace hftrain::nn {
namespace {

constexpr int64_t kRows = 2100, kWords = 70001,
                  kWidth = 8;  // three chunks of a device, and columns that pad them

// The loss of rounded numbers, computed in `dtype`, and the gradients of the rows, the matrix and the bias, in float64 on the CPU.
std::vector<at::Tensor> learnt_head(at::Device device, at::ScalarType rounded, at::ScalarType dtype,
                                    bool biased, Kernels kernels) {
  const auto generator = at::detail::createCPUGenerator(3);
  const auto drawn = [&](at::IntArrayRef sizes) {
    return at::randn(sizes, generator).to(rounded).to(device, dtype).requires_grad_(true);
  };
  const at::Tensor hidden = drawn({kRows, kWidth}), weight = drawn({kWords, kWidth}),
                   bias = biased ? drawn({kWords}) : at::Tensor();
  at::Tensor targets = at::randint(kWords, {kRows}, generator, at::TensorOptions(at::kLong));
  targets.narrow(0, 1020, 9).fill_(kIgnoreIndex);
  const at::Tensor loss =
      head_loss(hidden, weight, bias, targets.to(device), {}, kernels, Products::kAten, 64);
  loss.backward();
  std::vector<at::Tensor> all{loss.detach(), hidden.grad(), weight.grad()};
  if (biased) all.push_back(bias.grad());
  for (at::Tensor& each : all) each = each.cpu().to(at::kDouble);
  return all;
}

}  // namespace

TEST_CASE("a head over several chunks learns on a GPU what it does in float64", "[gpu]") {
  if (testing::gpu().plugin == nullptr) HFTRAIN_SKIP(testing::gpu().missing);
  const at::ScalarType dtype = GENERATE(at::kBFloat16, at::kHalf, at::kFloat);
  const bool biased = GENERATE(false, true);
  const Kernels kernels = GENERATE(Kernels::kComposed, Kernels::kFused);
  INFO(dtype << (biased ? ", with a bias" : "")
             << (kernels == Kernels::kFused ? ", kernels of our own" : ""));
  const auto expected = learnt_head(at::kCPU, dtype, at::kDouble, biased, Kernels::kComposed);
  const auto found = learnt_head(at::Device(at::kCUDA, 0), dtype, dtype, biased, kernels);
  const double tolerance = dtype == at::kBFloat16 ? 1e-2 : dtype == at::kHalf ? 2e-3 : 1e-4;
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    INFO("result " << i);
    CHECK((found[i] - expected[i]).abs().max().item<double>() <
          tolerance * expected[i].abs().max().item<double>());
  }
}

}  // namespace hftrain::nn

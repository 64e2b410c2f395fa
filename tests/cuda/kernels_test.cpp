// Every kernel of the CUDA plug-in on the CPU's grid, against a composition of ATen's operators in float64. What is not
// shown here: speed, the device's own functions (expf, rsqrtf), what nvcc makes of the source.
#include "hftrain/cuda/kernels.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/silu.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>

#include "grid.h"
#include "memory.h"
#include "support/catch.h"

namespace hftrain::cuda {
namespace {

using Tensors = std::vector<at::Tensor>;

const std::vector<at::ScalarType> kDtypes{at::kFloat, at::kHalf, at::kBFloat16};
constexpr int64_t kGridOfElements = int64_t{4096} * 256;  // threads that an elementwise launch has at most
constexpr int kNone = -1;                                 // of the arrays of a launch

Dtype word_of(at::ScalarType dtype) {
  return dtype == at::kFloat ? Dtype::kFloat : dtype == at::kHalf ? Dtype::kHalf : Dtype::kBFloat16;
}

at::Tensor noise(at::IntArrayRef shape, uint64_t seed, at::ScalarType dtype, double size = 1) {
  return (at::randn(shape, at::detail::createCPUGenerator(seed), at::kDouble) * size).to(dtype);
}

at::Tensor wide(const at::Tensor& x) {
  return x.to(at::kDouble);
}

at::Tensor unwritten(at::IntArrayRef shape, at::ScalarType dtype) {
  return at::full(shape, NAN, dtype);
}

// A copy that begins where vectors may, or, `displaced`, one number behind.
at::Tensor placed(const at::Tensor& x, bool displaced) {
  const int64_t behind = displaced ? 1 : 0;
  return at::empty({x.numel() + behind}, x.options()).narrow(0, behind, x.numel()).view(x.sizes()).copy_(x);
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.nbytes() == b.nbytes() && std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

// The launch may read `inputs` and read and write what it is given, copies of `outputs`. Runs in both orders of threads, which
// must not differ in a bit. One of the outputs may be `displaced`.
Tensors run(const Tensors& inputs, const Tensors& outputs, const std::function<void(const Tensors&)>& launch,
            int displaced = kNone) {
  Tensors first;
  for (const grid::Order order : {grid::Order::kForward, grid::Order::kBackward}) {
    Tensors given;
    std::deque<grid::Memory> memory;
    for (const at::Tensor& output : outputs)
      given.push_back(placed(output, static_cast<int>(given.size()) == displaced));
    for (const Tensors& all : {inputs, given}) {
      for (const at::Tensor& x : all) memory.emplace_back(x.const_data_ptr(), x.nbytes(), x.element_size());
    }
    grid::set_order(order);
    launch(given);
    REQUIRE(grid::fault() == "");
    if (order == grid::Order::kForward) first = given;
    for (size_t i = 0; i < given.size(); ++i) REQUIRE(same_bits(first[i], given[i]));
  }
  return first;
}

// Half a unit in the last place of its dtype, beside what sums in float32 lose.
double rounding_of(at::ScalarType dtype) {
  return dtype == at::kHalf ? 0x1p-11 : dtype == at::kBFloat16 ? 0x1p-8 : 0x1p-24;
}

void check_close(const at::Tensor& actual, const at::Tensor& expected, double noise = 4e-6) {
  REQUIRE(actual.sizes() == expected.sizes());
  CHECK(wide(actual).isfinite().all().item<bool>());
  const at::Tensor bound = expected.abs() * (1.01 * rounding_of(actual.scalar_type())) +
                           noise * std::max(1.0, expected.abs().max().item<double>());
  CHECK(((wide(actual) - expected).abs() / bound).max().item<double>() <= 1);
}

// Output, then the gradients of Σ output·weights: the composition.
Tensors composed(const Tensors& inputs, const at::Tensor& weights,
                 const std::function<at::Tensor(const Tensors&)>& apply) {
  Tensors leaves, result;
  for (const at::Tensor& input : inputs) leaves.push_back(wide(input).requires_grad_(true));
  const at::Tensor output = apply(leaves);
  output.backward(wide(weights));
  result.push_back(output.detach());
  for (const at::Tensor& leaf : leaves) result.push_back(leaf.grad());
  return result;
}

// Displaced: 0 x, 1 the weight, 2 grad, 3 what is written.
void check_rms_norm(int64_t rows, int64_t width, at::ScalarType dtype, int displaced = kNone) {
  INFO(rows << " rows of " << width << " in " << dtype << ", displaced " << displaced);
  constexpr double kEps = 1e-6;
  const at::Tensor x = placed(noise({rows, width}, 1, dtype), displaced == 0);
  const at::Tensor weight = placed(noise({width}, 2, dtype), displaced == 1);
  const at::Tensor grad = placed(noise({rows, width}, 3, dtype), displaced == 2);
  const auto root = [](const at::Tensor& v) { return at::rsqrt((v * v).mean({-1}, true) + kEps); };
  const Tensors expected =
      composed({x, weight}, grad, [&](const Tensors& in) { return in[0] * root(in[0]) * in[1]; });
  const Tensors there = run(
      {x, weight}, {unwritten({rows, width}, dtype), unwritten({rows}, at::kFloat)},
      [&](const Tensors& out) {
        rms_norm(word_of(dtype), x.const_data_ptr(), weight.const_data_ptr(), out[0].data_ptr(),
                 out[1].data_ptr<float>(), rows, width, kEps, nullptr);
      },
      displaced - 3);
  check_close(there[0], expected[0]);
  check_close(there[1], root(wide(x)).view({rows}));
  const Tensors back = run(
      {grad, x, weight, there[1]},
      {unwritten({rows, width}, dtype), unwritten({rms_norm_partials(rows, width), width}, at::kFloat)},
      [&](const Tensors& out) {
        rms_norm_backward(word_of(dtype), grad.const_data_ptr(), x.const_data_ptr(), weight.const_data_ptr(),
                          there[1].const_data_ptr<float>(), out[0].data_ptr(), out[1].data_ptr<float>(), rows,
                          width, nullptr);
      },
      displaced - 3);
  check_close(back[0], expected[1]);
  check_close(back[1].sum(0), expected[2]);
}

// Displaced: 0 x, 1 grad, 2 what is written.
void check_gelu(int64_t n, at::ScalarType dtype, double size = 3, int displaced = kNone) {
  INFO(n << " in " << dtype << ", displaced " << displaced);
  const at::Tensor x = placed(noise({n}, 1, dtype, size), displaced == 0);
  const at::Tensor grad = placed(noise({n}, 2, dtype), displaced == 1);
  const Tensors expected = composed({x}, grad, [](const Tensors& in) { return at::gelu(in[0], "tanh"); });
  const auto forward = [&](const Tensors& out) {
    gelu_tanh(word_of(dtype), x.const_data_ptr(), out[0].data_ptr(), n, nullptr);
  };
  const auto backward = [&](const Tensors& out) {
    gelu_tanh_backward(word_of(dtype), grad.const_data_ptr(), x.const_data_ptr(), out[0].data_ptr(), n,
                       nullptr);
  };
  const Tensors there = run({x}, {unwritten({n}, dtype)}, forward, displaced - 2);
  check_close(there[0], expected[0]);
  const Tensors back = run({grad, x}, {unwritten({n}, dtype)}, backward, displaced - 2);
  check_close(back[0], expected[1]);
}

// Displaced: 0 gate, 1 up, 2 grad, 3 and 4 what is written.
void check_swiglu(int64_t n, at::ScalarType dtype, double size = 3, int displaced = kNone) {
  INFO(n << " in " << dtype << ", displaced " << displaced);
  const at::Tensor gate = placed(noise({n}, 1, dtype, size), displaced == 0);
  const at::Tensor up = placed(noise({n}, 2, dtype), displaced == 1);
  const at::Tensor grad = placed(noise({n}, 3, dtype), displaced == 2);
  const Tensors expected =
      composed({gate, up}, grad, [](const Tensors& in) { return at::silu(in[0]) * in[1]; });
  const auto forward = [&](const Tensors& out) {
    swiglu(word_of(dtype), gate.const_data_ptr(), up.const_data_ptr(), out[0].data_ptr(), n, nullptr);
  };
  const auto backward = [&](const Tensors& out) {
    swiglu_backward(word_of(dtype), grad.const_data_ptr(), gate.const_data_ptr(), up.const_data_ptr(),
                    out[0].data_ptr(), out[1].data_ptr(), n, nullptr);
  };
  const Tensors there = run({gate, up}, {unwritten({n}, dtype)}, forward, displaced - 3);
  check_close(there[0], expected[0]);
  const Tensors back =
      run({grad, gate, up}, {unwritten({n}, dtype), unwritten({n}, dtype)}, backward, displaced - 3);
  check_close(back[0], expected[1]);
  check_close(back[1], expected[2]);
}

// Batches of `length` tokens; the tables are longer by `spare`.
struct Rotation {
  int64_t batches = 1, length = 1, heads = 1, half = 1, spare = 0;
};

// Displaced: 0 x, 1 cos, 2 sin, 3 what is written.
void check_rotate(const Rotation& s, at::ScalarType dtype, float sign, int displaced = kNone) {
  INFO(s.batches << "·" << s.length << " tokens, " << s.heads << " heads of 2·" << s.half << " in " << dtype
                 << ", displaced " << displaced);
  const at::Tensor x = placed(noise({s.batches, s.length, s.heads, 2 * s.half}, 1, dtype), displaced == 0);
  const at::Tensor angles = noise({s.length + s.spare, s.half}, 2, at::kFloat, 3);
  const at::Tensor cos = placed(angles.cos(), displaced == 1), sin = placed(angles.sin(), displaced == 2);
  const auto turn = [&](const Tensors& out) {
    rotate(word_of(dtype), x.const_data_ptr(), cos.const_data_ptr<float>(), sin.const_data_ptr<float>(),
           out[0].data_ptr(), {s.batches * s.length, s.length, s.heads, s.half}, sign, nullptr);
  };
  const Tensors turned = run({x, cos, sin}, {unwritten(x.sizes(), dtype)}, turn, displaced - 3);
  const auto of_tokens = [&](const at::Tensor& table) {
    return wide(table.to(dtype)).narrow(0, 0, s.length).view({1, s.length, 1, s.half});
  };
  const at::Tensor c = of_tokens(cos), t = of_tokens(sin) * sign;
  const at::Tensor a = wide(x).narrow(3, 0, s.half), b = wide(x).narrow(3, s.half, s.half);
  check_close(turned[0], at::cat({a * c - b * t, b * c + a * t}, 3));
}

// While it lives nothing looks at accesses to memory, which takes most of the time.
struct Unwatched {
  Unwatched() { grid::set_watched(false); }
  ~Unwatched() { grid::set_watched(true); }
};

struct LossCase {
  int64_t rows = 1, vocab = 1;
  float smoothing = 0;
  double size = 3;  // of the logits
};

// Every third row has no target.
at::Tensor some_targets(int64_t rows, int64_t vocab) {
  const at::Tensor index = at::arange(rows, at::kLong);
  return (index * 7 + vocab - 1).remainder(vocab).masked_fill(index.remainder(3) == 1, -100);
}

// The losses of the rows, by definition.
at::Tensor row_losses(const at::Tensor& logits, const at::Tensor& targets, double smoothing) {
  const at::Tensor minus_log = -at::log_softmax(logits, 1);
  const at::Tensor of_target = minus_log.gather(1, targets.clamp_min(0).unsqueeze(1)).squeeze(1);
  const at::Tensor loss =
      smoothing == 0 ? of_target : (1 - smoothing) * of_target + smoothing * minus_log.mean(1);
  return loss.masked_fill(targets == -100, 0);
}

// Losses, and the logits as the kernel leaves them; without `scale` it takes no gradient.
Tensors run_loss(const at::Tensor& logits, const at::Tensor& targets, float smoothing,
                 const at::Tensor& scale) {
  Tensors inputs{targets};
  if (scale.defined()) inputs.push_back(scale);
  return run(inputs, {unwritten({logits.size(0)}, at::kFloat), logits}, [&](const Tensors& out) {
    cross_entropy(word_of(logits.scalar_type()), out[1].data_ptr(), logits.size(1),
                  targets.const_data_ptr<int64_t>(), out[0].data_ptr<float>(), logits.size(0), logits.size(1),
                  smoothing, scale.defined() ? scale.const_data_ptr<float>() : nullptr, nullptr);
  });
}

void check_loss_of(const at::Tensor& logits, float smoothing) {
  const int64_t rows = logits.size(0), vocab = logits.size(1);
  INFO(rows << " rows of " << vocab << " in " << logits.scalar_type() << ", smoothing " << smoothing);
  const at::Tensor targets = some_targets(rows, vocab), scale = at::full({}, 0.37f, at::kFloat);
  const at::Tensor weights = at::full({rows}, static_cast<double>(0.37f), at::kDouble);
  const Tensors expected =
      composed({logits}, weights, [&](const Tensors& in) { return row_losses(in[0], targets, smoothing); });
  const Tensors alone = run_loss(logits, targets, smoothing, {});
  check_close(alone[0], expected[0]);
  CHECK(same_bits(alone[1], logits));
  const Tensors both = run_loss(logits, targets, smoothing, scale);
  CHECK(same_bits(both[0], alone[0]));
  check_close(both[1], expected[1]);
}

void check_loss(const LossCase& each, at::ScalarType dtype) {
  check_loss_of(noise({each.rows, each.vocab}, 1, dtype, each.size), each.smoothing);
}

}  // namespace

TEST_CASE(
    "The RMS norm's kernels and its gradients' agree with float64 for rows that fill blocks in every way") {
  const at::ScalarType dtype = GENERATE(from_range(kDtypes));
  for (const int64_t width : {1, 7, 31, 32, 33, 100, 1000, 1023, 1024, 1025, 2500, 4096, 4097, 8192, 8200}) {
    for (const int64_t rows : {1, 3}) check_rms_norm(rows, width, dtype);
  }
}

TEST_CASE(
    "An array that begins where no vector may is taken by single numbers, and is the same to a kernel") {
  const at::ScalarType dtype = GENERATE(from_range(kDtypes));
  for (const int displaced : {0, 1, 2, 3, 4}) {
    for (const int64_t width : {64, 264}) check_rms_norm(3, width, dtype, displaced);
    check_gelu(1000, dtype, 3, displaced);
    check_swiglu(1000, dtype, 3, displaced);
    check_rotate({2, 3, 2, 16, 0}, dtype, 1, displaced);
  }
}

TEST_CASE("The RMS norm's gradients are those of more rows than there are partial sums") {
  const at::ScalarType dtype = GENERATE(from_range(kDtypes));
  constexpr int64_t kWide = 257, kNarrow = 40,
                    kTogether = 8;  // rows of the latter that a block takes at once
  const int64_t most = rms_norm_partials(std::numeric_limits<int64_t>::max() / 2, kWide);
  CHECK(rms_norm_partials(most - 1, kWide) == most - 1);
  CHECK(rms_norm_partials(kTogether * most - 1, kNarrow) == most);
  CHECK(rms_norm_partials(kTogether * (most - 1), kNarrow) == most - 1);
  for (const int64_t rows : {most - 1, most + 1}) check_rms_norm(rows, kWide, dtype);
  check_rms_norm(most + 1, kWide + 7, dtype);  // by vectors
  if (dtype != at::kHalf) return;
  const Unwatched quick;
  check_rms_norm(most + 1, 4097, dtype);  // more columns than a block has registers for
  check_rms_norm(kTogether * most + 1, kNarrow, dtype);
}

TEST_CASE(
    "The RMS norm's gradients of narrow rows are those of float64, whatever of a warp and a block they "
    "fill") {
  const at::ScalarType dtype = GENERATE(from_range(kDtypes));
  for (const int64_t width : {31, 32, 64, 127, 128, 129, 255, 256, 257}) check_rms_norm(37, width, dtype);
  for (const int64_t rows : {1, 2, 7, 8, 9}) check_rms_norm(rows, 100, dtype);
}

TEST_CASE("The activations' kernels and their gradients' agree with float64") {
  const at::ScalarType dtype = GENERATE(from_range(kDtypes));
  for (const int64_t n : {1, 7, 8, 31, 255, 256, 257, 3000, 9003}) {
    check_gelu(n, dtype);
    check_swiglu(n, dtype);
  }
  check_gelu(500, dtype, 3000);  // where exponentials are 0 or more than a float holds
  check_swiglu(500, dtype, 3000);
}

TEST_CASE("A kernel of elements reaches those beyond the largest grid") {
  const at::ScalarType dtype = at::kHalf;              // the indices are those of every dtype
  check_gelu(2 * kGridOfElements + 300, dtype, 3, 0);  // by single numbers, two of a thread at once
  check_rotate({1, 2, kGridOfElements / 8, 4}, dtype, 1);
  check_rotate({3, 2, kGridOfElements / 16, 4}, dtype, -1);
  check_rotate({2, 5000, 1, 2}, dtype, 1);  // a block takes a token
}

TEST_CASE("The rotation's kernel agrees with float64, in each batch from its first place on") {
  const at::ScalarType dtype = GENERATE(from_range(kDtypes));
  const float sign = GENERATE(1.0f, -1.0f);
  for (const Rotation& shape :
       {Rotation{1, 1, 1, 1, 0}, Rotation{1, 1, 1, 1, 4}, Rotation{2, 3, 2, 4, 0}, Rotation{5, 2, 3, 33, 1},
        Rotation{2, 7, 1, 64, 0}, Rotation{1, 40, 4, 16, 24}, Rotation{2, 3, 5, 300, 0},
        Rotation{3, 2, 9, 48, 1}, Rotation{1, 2, 9, 304, 0}})
    check_rotate(shape, dtype, sign);
}

TEST_CASE("The cross-entropy's kernel agrees with float64, its gradient in the place of the logits") {
  const at::ScalarType dtype = GENERATE(from_range(kDtypes));
  const float smoothing = GENERATE(0.0f, 0.1f);
  for (const int64_t vocab : {1, 2, 31, 32, 33, 1000, 1023, 1024, 1025, 4099})
    check_loss({.rows = 4, .vocab = vocab, .smoothing = smoothing}, dtype);
  check_loss({.rows = 1, .vocab = 2500, .smoothing = smoothing}, dtype);
  check_loss({.rows = 3, .vocab = 9001, .smoothing = smoothing}, dtype);  // vectors for two rounds of a block
  check_loss({.rows = 600, .vocab = 5, .smoothing = smoothing}, dtype);
}

TEST_CASE("The cross-entropy of large logits and of rows without any target is finite") {
  const at::ScalarType dtype = GENERATE(from_range(kDtypes));
  check_loss({.rows = 4, .vocab = 70, .size = 3000}, dtype);
  const at::Tensor logits = noise({2, 70}, 1, dtype), none = at::full({2}, -100, at::kLong);
  const Tensors found = run_loss(logits, none, 0.1f, at::full({}, 1.0f, at::kFloat));
  CHECK(found[0].eq(0).all().item<bool>());
  CHECK(found[1].eq(0).all().item<bool>());
}

TEST_CASE("The cross-entropy's one pass agrees with float64 whether logits rise or fall along a row") {
  const at::ScalarType dtype = GENERATE(from_range(kDtypes));
  const double slope = GENERATE(0.003, -0.003);
  const at::Tensor rising = at::arange(9001, at::kDouble) * slope;
  check_loss_of(rising.view({1, 9001}).expand({4, 9001}).to(dtype).contiguous(), 0.1f);
}

TEST_CASE("A class that cannot be has the loss of the others and no gradient of its own") {
  const at::ScalarType dtype = GENERATE(from_range(kDtypes));
  const int64_t many = GENERATE(1, 20);  // more than a thread sees
  at::Tensor logits = noise({1, 40}, 1, dtype);
  logits.narrow(1, 0, many).fill_(-INFINITY);
  const at::Tensor target = at::full({1}, 25, at::kLong);
  const Tensors found = run_loss(logits, target, 0, at::full({}, 1.0f, at::kFloat));
  check_close(found[0], row_losses(wide(logits), target, 0));
  CHECK(found[1].narrow(1, 0, many).eq(0).all().item<bool>());
}

TEST_CASE("A target outside of the vocabulary makes its loss NaN and reads nothing beside the logits") {
  const at::ScalarType dtype = GENERATE(from_range(kDtypes));
  const float smoothing = GENERATE(0.0f, 0.1f);
  const at::Tensor logits = noise({6, 40}, 1, dtype);
  const at::Tensor targets = at::arange(6, at::kLong);
  auto* target = targets.data_ptr<int64_t>();
  target[1] = -1;
  target[2] = 40;
  target[3] = std::numeric_limits<int64_t>::max();
  target[4] = std::numeric_limits<int64_t>::min();
  for (const at::Tensor& scale : {at::Tensor(), at::full({}, 1.0f, at::kFloat)}) {
    const Tensors found = run_loss(logits, targets, smoothing, scale);
    CHECK(found[0].narrow(0, 1, 4).isnan().all().item<bool>());
    const at::Tensor known = at::arange(0, 6, 5, at::kLong);
    check_close(found[0].index_select(0, known),
                row_losses(wide(logits).index_select(0, known), known, smoothing));
  }
}

TEST_CASE("NaN stays in the row that has it") {
  const at::ScalarType dtype = GENERATE(from_range(kDtypes));
  at::Tensor logits = noise({3, 40}, 1, dtype);
  logits[1][39] = NAN;
  const at::Tensor isnan =
      run_loss(logits, at::full({3}, 0, at::kLong), 0, at::full({}, 1.0f, at::kFloat))[1].isnan();
  CHECK_FALSE(isnan[0].any().item<bool>());
  CHECK(isnan[1].all().item<bool>());
  CHECK_FALSE(isnan[2].any().item<bool>());
}

TEST_CASE("Rows of logits may stand apart from one another, and what is between them stays") {
  const at::ScalarType dtype = GENERATE(from_range(kDtypes));
  const int64_t stride = GENERATE(64, 41);  // rows begin where vectors may, or anywhere
  const int64_t rows = 5, vocab = 37, between = stride - vocab;
  const at::Tensor logits = noise({rows, stride}, 1, dtype, 3), scale = at::full({}, 0.37f, at::kFloat);
  const at::Tensor targets = some_targets(rows, vocab);
  const Tensors expected =
      composed({logits.narrow(1, 0, vocab)}, at::full({rows}, static_cast<double>(0.37f), at::kDouble),
               [&](const Tensors& in) { return row_losses(in[0], targets, 0.1f); });
  const Tensors found =
      run({targets, scale}, {unwritten({rows}, at::kFloat), logits}, [&](const Tensors& out) {
        cross_entropy(word_of(dtype), out[1].data_ptr(), stride, targets.const_data_ptr<int64_t>(),
                      out[0].data_ptr<float>(), rows, vocab, 0.1f, scale.const_data_ptr<float>(), nullptr);
      });
  check_close(found[0], expected[0]);
  check_close(found[1].narrow(1, 0, vocab), expected[1]);
  CHECK(same_bits(found[1].narrow(1, vocab, between).contiguous(),
                  logits.narrow(1, vocab, between).contiguous()));
}

}  // namespace hftrain::cuda

// Dropout against at::dropout, to the bit: what is drawn, what comes out, what flows back, and what the generator draws next.
#include "hftrain/nn/dropout.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>

#include <functional>

#include "hftrain/nn/cpu/bernoulli.h"
#include "support/catch.h"

namespace hftrain::nn {
namespace {

struct Dropped {
  at::Tensor out, grad, next;  // `next`: what the generator draws afterwards
};

Dropped dropped(const at::Tensor& x, const std::function<at::Tensor(const at::Tensor&)>& drop) {
  at::Generator(at::detail::getDefaultCPUGenerator()).set_current_seed(7);
  const at::Tensor leaf = x.detach().requires_grad_(true);
  const at::Tensor out = drop(leaf);
  out.backward(at::randn(out.sizes(), at::detail::createCPUGenerator(3), x.scalar_type()));
  return {out.detach(), leaf.grad(), at::rand({5})};
}

void check_same(const Dropped& mine, const Dropped& theirs) {
  CHECK(mine.out.equal(theirs.out));
  CHECK(mine.grad.equal(theirs.grad));
  CHECK(mine.next.equal(theirs.next));
}

}  // namespace

TEST_CASE("dropout: draws, values, gradients and the generator afterwards are those of at::dropout") {
  const double p = GENERATE(0.1, 0.5, 0.999);
  for (const int64_t size : {1, 311, 312, 313, 623, 70001}) {
    INFO("p " << p << ", " << size << " elements");
    const at::Tensor x = at::randn({size}, at::detail::createCPUGenerator(1));
    check_same(dropped(x, [&](const at::Tensor& in) { return dropout(in, p); }),
               dropped(x, [&](const at::Tensor& in) { return at::dropout(in, p, true); }));
  }
}

TEST_CASE("dropout: what has no loop goes to at::dropout, with the same draws") {
  const at::Tensor x = at::randn({64, 48}, at::detail::createCPUGenerator(1));
  for (const at::Tensor& each : {x.t(), x.to(at::kBFloat16), x.to(at::kDouble), x.narrow(1, 3, 20)}) {
    check_same(dropped(each, [](const at::Tensor& in) { return dropout(in, 0.2); }),
               dropped(each, [](const at::Tensor& in) { return at::dropout(in, 0.2, true); }));
  }
  CHECK(dropout(x, 1.0).equal(at::dropout(x, 1.0, true)));
  CHECK(dropout(x, 0.0).is_same(x));
}

TEST_CASE("dropout: added to a residual it has the bits of the sum") {
  const at::Tensor residual = at::randn({33, 65}, at::detail::createCPUGenerator(2)).requires_grad_(true);
  const at::Tensor x = at::randn({33, 65}, at::detail::createCPUGenerator(1));
  check_same(dropped(x, [&](const at::Tensor& in) { return add_dropout(residual, in, 0.1); }),
             dropped(x, [&](const at::Tensor& in) { return residual + at::dropout(in, 0.1, true); }));
  const at::Tensor both = residual.grad().clone();
  residual.mutable_grad().reset();
  (residual + x).backward(at::randn({33, 65}, at::detail::createCPUGenerator(3)));
  CHECK(both.equal(residual.grad() * 2));
  check_same(dropped(x, [&](const at::Tensor& in) { return add_dropout(residual[0], in, 0.1); }),
             dropped(x, [&](const at::Tensor& in) { return residual[0] + at::dropout(in, 0.1, true); }));
}

TEST_CASE("dropout: pairs of words that lie in two blocks of the generator are ATen's pairs") {
  at::Generator generator = at::detail::createCPUGenerator(11);
  auto* kept = at::check_generator<at::CPUGeneratorImpl>(generator);
  at::mt19937 engine(11);
  kept->random();  // a word alone: all pairs after it are shifted by one
  engine();
  for (const int64_t size : {1, 310, 1, 312, 2000}) {
    at::Tensor mine = at::empty({size}, at::kByte);
    cpu::draw_bernoulli(engine, 0.25, mine.data_ptr<uint8_t>(), size);
    for (int64_t i = 0; i < size; ++i) {
      const double drawn = static_cast<double>(kept->random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
      REQUIRE(mine[i].item<uint8_t>() == (drawn < 0.25 ? 1 : 0));
    }
    CHECK(engine.data().left_ == kept->engine().data().left_);
    CHECK(engine.data().next_ == kept->engine().data().next_);
  }
}

}  // namespace hftrain::nn

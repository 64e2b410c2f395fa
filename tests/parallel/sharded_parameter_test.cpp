// Offload to host memory without a GPU: master weights that lie apart from the buffer, on the same device.
#include "hftrain/parallel/sharded_parameter.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include "parallel/late_fetches.h"
#include "support/catch.h"

namespace hftrain::parallel {
namespace {

// A device that comes to a copy when somebody waits for it.
class WaitedCopies final : public testing::LateFetches {
 public:
  void start(const at::Tensor& there, const at::Tensor& source) override {
    waiting_.emplace_back(there, source.clone());
  }
  Mark mark() override { return static_cast<Mark>(waiting_.size()); }
  void wait(Mark mark) override {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < static_cast<size_t>(mark); ++i) waiting_[i].first.copy_(waiting_[i].second);
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> waiting_;
};

HostCopies* waited_copies() {
  static WaitedCopies copies;
  return &copies;
}

at::Tensor numbers() {
  return at::arange(12, at::kFloat).view({4, 3});
}

ShardedParameter held(bool resident, bool apart, int parts = 1) {
  ShardPlacement placement;
  placement.parts = parts;
  placement.resident = resident;
  if (apart) placement.copies = waited_copies();
  return ShardedParameter({"w", numbers().clone().requires_grad_(true), 0}, placement);
}

void write_local_shard(const ShardedParameter& parameter, const at::Tensor& values) {
  const at::NoGradGuard no_grad;
  parameter.local_shard().copy_(values.narrow(0, 0, parameter.local_shard().size(0)));
}

bool same_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.const_data_ptr() == b.const_data_ptr();
}

}  // namespace

TEST_CASE("offloaded master weights are memory of their own; without offload they are the leaf's") {
  const ShardedParameter together = held(true, false), apart = held(true, true);
  CHECK(same_memory(together.local_shard(), together.leaf()));
  CHECK_FALSE(same_memory(apart.local_shard(), apart.leaf()));
  CHECK_FALSE(together.needs_gather());
  CHECK(apart.needs_gather());
  CHECK(together.parameter_bytes() == 48);
  CHECK(apart.parameter_bytes() == 96);
}

TEST_CASE(
    "what is written to offloaded master weights is in the leaf after the next gathering, and not before") {
  for (const bool resident : {true, false}) {
    INFO("resident: " << resident);
    ShardedParameter parameter = held(resident, true);
    write_local_shard(parameter, numbers());
    parameter.allocate();
    parallel::fill_slots({&parameter});
    CHECK(same_memory(parameter.gather_input(), parameter.buffer()));
    CHECK(at::equal(parameter.leaf().detach(), numbers()));
    write_local_shard(parameter, numbers().mul(2));
    CHECK(at::equal(parameter.leaf().detach(), numbers()));
    parameter.release();
    parameter.allocate();
    parallel::fill_slots({&parameter});
    CHECK(at::equal(parameter.leaf().detach(), numbers().mul(2)));
  }
}

TEST_CASE("of several parts the offloaded one is copied to its place before it is sent") {
  ShardedParameter parameter = held(false, true, 2);
  write_local_shard(parameter, numbers());
  parameter.allocate();
  parallel::fill_slots({&parameter});
  const at::Tensor sent = parameter.gather_input();
  CHECK_FALSE(same_memory(sent, parameter.shard()));
  CHECK(same_memory(sent, parameter.buffer()));
  CHECK(at::equal(sent, numbers().flatten().narrow(0, 0, 6)));
  ShardedParameter together = held(false, false, 2);
  together.allocate();
  CHECK(same_memory(together.gather_input(), together.shard()));
}

TEST_CASE("gradients of offloaded master weights are copies that add up") {
  ShardedParameter parameter = held(true, true);
  const at::Tensor reduced = at::full({12}, 3.0, at::kFloat);
  const auto arrive = [&] {
    waited_copies()->wait(waited_copies()->mark());
    parameter.settle_gradient();
  };
  parameter.add_gradient(reduced);
  CHECK_FALSE(parameter.local_shard().grad().defined());
  CHECK(parameter.gradient_bytes().apart == 48);
  arrive();
  CHECK_FALSE(same_memory(parameter.local_shard().grad(), reduced));
  CHECK(at::equal(parameter.local_shard().grad(), at::full({4, 3}, 3.0, at::kFloat)));
  parameter.add_gradient(at::full({12}, 4.0, at::kFloat));
  arrive();
  CHECK(at::equal(parameter.local_shard().grad(), at::full({4, 3}, 7.0, at::kFloat)));
  CHECK(parameter.gradient_bytes().apart == 48);
  parameter.drop_gradients();
  CHECK(parameter.gradient_bytes().apart == 0);
}

}  // namespace hftrain::parallel

#include "hftrain/parallel/shard_unit.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "hftrain/parallel/nvme_shard.h"

namespace hftrain::parallel {
namespace {

// Of a gradient that takes no longer on its way than an operation takes to begin: 1 MiB of float32.
constexpr int64_t kSmallGradient = int64_t{1} << 18;

// What is reduced: the small ones of the whole gradients one after the other in one tensor, of which they become parts, and the
// others, each as it is. A larger one is not worth the memory of a copy.
std::vector<at::Tensor> small_ones_joined(std::vector<at::Tensor>& gradients) {
  std::vector<at::Tensor> small, reduced;
  for (const at::Tensor& gradient : gradients)
    (gradient.numel() <= kSmallGradient ? small : reduced).push_back(gradient);
  if (small.size() < 2) return gradients;
  const at::Tensor together = at::cat(small);
  reduced.push_back(together);
  int64_t offset = 0;
  for (at::Tensor& gradient : gradients) {
    const int64_t numel = gradient.numel();
    if (numel > kSmallGradient) continue;
    gradient = together.narrow(0, offset, numel);
    offset += numel;
  }
  return reduced;
}

}  // namespace

// Gradients on their way. Inputs and outputs stay untouched until the operations are over.
struct ShardUnit::Reduction {
  std::vector<ShardedParameter*> sharded, whole;  // by how they are reduced
  std::vector<at::Tensor> inputs;                 // of the sharded ones, whole
  std::vector<at::Tensor> outputs;                // views of `parts`
  at::Tensor parts;                               // this rank's parts, one after the other
  std::vector<at::Tensor> copies;                 // gradients of the whole ones, flat
  std::vector<comm::PendingOperation> operations;
  bool averages = false;  // between the groups; `operations` are those then
};

ShardUnit::ShardUnit(std::string name, std::vector<ShardedParameter*> parameters, bool reshard,
                     const ShardGroups& groups, GatheredBytes& gathered)
    : name_(std::move(name)),
      parameters_(std::move(parameters)),
      reshard_(reshard),
      groups_(groups),
      gathered_(gathered) {
  for (const ShardedParameter* parameter : parameters_) {
    if (!parameter->placement().resident) transient_bytes_ += parameter->buffer_bytes();
  }
}

ShardUnit::~ShardUnit() = default;

int ShardUnit::trainable_parameters() const {
  return static_cast<int>(std::count_if(parameters_.begin(), parameters_.end(),
                                        [](const ShardedParameter* each) { return each->trainable(); }));
}

void ShardUnit::expect() {
  if (whole_) return;
  for (ShardedParameter* parameter : parameters_) parameter->expect();
}

void ShardUnit::start_gather() {
  if (whole_) return;
  std::vector<at::Tensor> outputs, inputs;
  for (ShardedParameter* parameter : parameters_) {
    parameter->allocate();
    if (!parameter->needs_gather() || !parameter->is_sharded()) continue;
    inputs.push_back(parameter->gather_input());
    outputs.push_back(parameter->buffer());
  }
  if (!allocated_) gathered_.peak = std::max(gathered_.peak, gathered_.now += transient_bytes_);
  allocated_ = whole_ = true;
  const auto fill = [this, outputs, inputs] {
    fill_slots(parameters_);
    if (!outputs.empty()) gather_ = groups_.shard->all_gather_async(outputs, inputs);
  };
  HostCopies* copies = parameters_.front()->placement().copies;
  if (copies == nullptr) {
    fill();
  } else {
    fetched_ = copies->fetch(fill);  // beside the maths of the unit before
  }
}

void ShardUnit::finish_gather() {
  if (fetched_) parameters_.front()->placement().copies->use(*fetched_);
  fetched_.reset();
  if (gather_) gather_->wait();
  gather_.reset();
  for (const ShardedParameter* parameter : parameters_) let_go_of_pages(parameter->shard());
}

void ShardUnit::release() {
  finish_gather();
  if (!allocated_ || transient_bytes_ == 0) return;
  for (ShardedParameter* parameter : parameters_) parameter->release();
  gathered_.now -= transient_bytes_;
  allocated_ = whole_ = false;
}

void ShardUnit::invalidate() {
  release();
  whole_ = false;
}

// The parts lie in one tensor, so that the replicas are averaged with one operation.
void ShardUnit::start_reduction() {
  auto reduction = std::make_unique<Reduction>();
  int64_t numel = 0;
  for (ShardedParameter* parameter : parameters_) {
    if (!parameter->trainable()) continue;
    if (!parameter->is_sharded()) {
      reduction->whole.push_back(parameter);
      reduction->copies.push_back(parameter->take_gradient());
      continue;
    }
    reduction->sharded.push_back(parameter);
    reduction->inputs.push_back(parameter->take_gradient());
    numel += parameter->shard().numel();
  }
  if (!reduction->sharded.empty()) {
    reduction->parts = at::empty({numel}, reduction->inputs.front().options());
    int64_t offset = 0;
    for (const ShardedParameter* parameter : reduction->sharded) {
      reduction->outputs.push_back(reduction->parts.narrow(0, offset, parameter->shard().numel()));
      offset += parameter->shard().numel();
    }
    reduction->operations.push_back(groups_.shard->reduce_scatter_async(reduction->outputs, reduction->inputs,
                                                                        comm::Reduction::kAverage));
  }
  if (groups_.world->world_size() > 1) {
    for (const at::Tensor& gradient : small_ones_joined(reduction->copies)) {
      reduction->operations.push_back(groups_.world->all_reduce_async(gradient, comm::Reduction::kAverage));
    }
  }
  reduction_ = std::move(reduction);
}

bool ShardUnit::average_replicas() {
  if (!reduction_) return false;
  if (reduction_->averages) return !reduction_->operations.empty();
  for (comm::PendingOperation& operation : reduction_->operations) operation.wait();
  reduction_->operations.clear();
  reduction_->inputs.clear();
  reduction_->averages = true;
  if (groups_.replicate->world_size() > 1 && reduction_->parts.defined()) {
    reduction_->operations.push_back(
        groups_.replicate->all_reduce_async(reduction_->parts, comm::Reduction::kAverage));
  }
  return !reduction_->operations.empty();
}

void ShardUnit::finish_reduction() {
  average_replicas();
  if (!reduction_) return;
  const std::unique_ptr<Reduction> reduction = std::move(reduction_);
  for (comm::PendingOperation& operation : reduction->operations) operation.wait();
  add_reduced(*reduction);
}

// What the pass before has sent was on its way while this one computed.
void ShardUnit::add_reduced(const Reduction& reduction) {
  settle_gradients();
  for (size_t i = 0; i < reduction.sharded.size(); ++i)
    reduction.sharded[i]->add_gradient(reduction.outputs[i]);
  for (size_t i = 0; i < reduction.whole.size(); ++i) reduction.whole[i]->add_gradient(reduction.copies[i]);
  HostCopies* copies = parameters_.front()->placement().copies;
  if (copies != nullptr) arriving_ = copies->mark();
}

void ShardUnit::settle_gradients() {
  if (!arriving_) return;
  parameters_.front()->placement().copies->wait(*arriving_);
  arriving_.reset();
  for (ShardedParameter* parameter : parameters_) parameter->settle_gradient();
}

}  // namespace hftrain::parallel

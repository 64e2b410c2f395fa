#include "hftrain/parallel/sharded_strategy.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <map>

#include "hftrain/base/error.h"
#include "hftrain/optim/gradient_norm.h"
#include "hftrain/parallel/nvme_shard.h"

namespace hftrain::parallel {
namespace {

// Tells the runner that a leaf's gradient is complete.
class GradientHook final : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit GradientHook(std::function<void()> call) : call_(std::move(call)) {}
  void operator()(const at::Tensor&) override { call_(); }

 private:
  std::function<void()> call_;
};

PrefetchPolicy prefetch_of(const plan::StrategyPlan& plan) {
  static const std::map<std::string, BackwardPrefetch> kBackward = {
      {"none", BackwardPrefetch::kNone}, {"pre", BackwardPrefetch::kPre}, {"post", BackwardPrefetch::kPost}};
  return {plan.forward_prefetch, kBackward.at(plan.backward_prefetch), plan.limit_all_gathers};
}

at::ScalarType reduce_dtype_of(const plan::StrategyPlan& plan) {
  static const std::map<std::string, at::ScalarType> kTypes = {
      {"float32", at::kFloat}, {"bfloat16", at::kBFloat16}, {"float16", at::kHalf}};
  return kTypes.at(plan.reduce_dtype);
}

}  // namespace

ShardedStrategy::ShardedStrategy(const plan::StrategyPlan& plan, const ParameterList& parameters,
                                 const std::vector<nn::Unit>& model_units, at::ScalarType compute,
                                 OptimizerMaker make_optimizer, comm::Communicator& communicator,
                                 std::unique_ptr<HostCopies> copies)
    : plan_(plan),
      copies_(std::move(copies)),
      make_optimizer_(std::move(make_optimizer)),
      weight_decays_(parameters.weight_decays),
      communicator_(communicator),
      mesh_(communicator, plan.mesh_replicate, plan.mesh_shard) {
  for (const NamedParameter& parameter : parameters.parameters) {
    parameters_.emplace_back(parameter, placement_of(parameter, compute));
  }
  make_units(parameters_.size());
  runner_ = std::make_unique<ShardingRunner>(units_, owners_, model_units, prefetch_of(plan_));
  watch_gradients();
}

ShardedStrategy::~ShardedStrategy() {
  for (const ShardedParameter& parameter : parameters_) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter.leaf(), nullptr);
  }
}

ShardPlacement ShardedStrategy::placement_of(const NamedParameter& parameter, at::ScalarType compute) const {
  const at::Tensor& leaf = parameter.tensor;
  ShardPlacement placement;
  const bool small = leaf.numel() < plan_.full_parameter_limit;
  if (!small && !std::binary_search(plan_.ignored.begin(), plan_.ignored.end(), parameter.name)) {
    placement.parts = mesh_.shard().world_size();
    placement.index = mesh_.shard().rank();
  }
  placement.compute_dtype = leaf.scalar_type() == at::kFloat ? compute : leaf.scalar_type();
  placement.reduce_dtype = reduce_dtype_of(plan_);
  const bool on_host = plan_.offload_parameters != "none" || plan_.offload_optimizer != "none";
  placement.master_device = on_host ? at::Device(at::kCPU) : leaf.device();
  if (on_host && !leaf.device().is_cpu() && !copies_)
    throw Error(ExitCode::kInternal, "offload from a device has no copies to the host");
  if (on_host) placement.copies = copies_.get();  // on the CPU there are none, and nothing to gain
  // Small ones stay in memory.
  const bool on_nvme = plan_.offload_parameters == "nvme" && leaf.numel() >= plan_.full_parameter_limit;
  if (on_nvme) placement.nvme_folder = plan_.nvme.parameters_path;
  placement.resident = plan_.stage < 3 || (placement.parts == 1 && !on_nvme);
  return placement;
}

void ShardedStrategy::make_units(size_t parameters) {
  constexpr auto kNone = static_cast<size_t>(-1);
  owners_.assign(parameters, kNone);
  const ShardGroups groups{&communicator_, &mesh_.shard(), &mesh_.replicate()};
  for (const plan::UnitPlan& unit : plan_.units) {
    std::vector<ShardedParameter*> members;
    for (const int position : unit.parameters) {
      const auto index = static_cast<size_t>(position);
      if (index >= parameters || owners_[index] != kNone) {
        throw Error(ExitCode::kInternal, "parameter " + std::to_string(position) + " of unit " + unit.name +
                                             " is unknown or in two units");
      }
      owners_[index] = units_.size();
      members.push_back(&parameters_[index]);
    }
    units_.emplace_back(unit.name, std::move(members), unit.reshard_after_forward, groups, gathered_);
  }
  const auto lost = std::find(owners_.begin(), owners_.end(), kNone);
  if (lost == owners_.end()) return;
  throw Error(ExitCode::kInternal, "the plan puts the parameter " +
                                       parameters_[static_cast<size_t>(lost - owners_.begin())].name() +
                                       " into no unit");
}

void ShardedStrategy::watch_gradients() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    ShardedParameter* parameter = &parameters_[i];
    if (!parameter->trainable()) continue;
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameter->leaf(), std::make_unique<GradientHook>([this, parameter, unit = owners_[i]] {
          runner_->gradient_ready(unit, *parameter);
        }));
  }
}

void ShardedStrategy::prepare() {
  make_replicas_equal();
  std::vector<optim::ParameterGroup> groups;
  for (const double weight_decay : weight_decays_) groups.push_back({{}, weight_decay});
  optimizer_order_.clear();
  sharded_.clear();
  whole_.clear();
  for (size_t group = 0; group < groups.size(); ++group) {
    for (const ShardedParameter& parameter : parameters_) {
      if (parameter.group() != group || !parameter.trainable() || parameter.local_shard().numel() == 0)
        continue;
      groups[group].parameters.push_back(parameter.local_shard());
      optimizer_order_.push_back(&parameter);
      (parameter.is_sharded() ? sharded_ : whole_).push_back(parameter.local_shard());
    }
  }
  optimizer_ = make_optimizer_(std::move(groups));
  parameters_changed();
  connect_for_saves();
}

// NCCL connects ranks that send to each other at their first such operation and takes memory for it, which behind the first updates
// LibTorch's allocator may hold. That would be the first save.
void ShardedStrategy::connect_for_saves() {
  comm::Communicator& shard = mesh_.shard();
  if (plan_.state_dict != "full" || shard.world_size() == 1 || mesh_.replicate().rank() != 0) return;
  const auto options = at::TensorOptions(communicator_.device()).dtype(at::kFloat);
  const at::Tensor all = communicator_.rank() == 0 ? at::empty({shard.world_size()}, options) : at::Tensor();
  shard.gather(all, at::zeros({1}, options), 0);
}

void ShardedStrategy::make_replicas_equal() {
  for (const ShardedParameter& parameter : parameters_) {
    comm::Communicator& equals = parameter.is_sharded() ? mesh_.replicate() : communicator_;
    if (equals.world_size() == 1) continue;
    const at::Tensor there = parameter.shard().to(communicator_.device());
    equals.broadcast(there, 0);
    if (!there.is_same(parameter.shard())) parameter.shard().copy_(there);
    let_go_of_pages(parameter.shard());
  }
}

void ShardedStrategy::begin_micro_batch(bool synchronise) {
  runner_->begin_pass(/*reduce=*/plan_.stage > 1 || synchronise, /*last=*/synchronise);
}

void ShardedStrategy::backward(const at::Tensor& loss) {
  loss.backward();
  runner_->finish_backward();
  GradientBytes all;
  for (const ShardedParameter& parameter : parameters_) {
    const GradientBytes bytes = parameter.gradient_bytes();
    all.here += bytes.here;
    all.apart += bytes.apart;
  }
  most_gradients_ = {std::max(most_gradients_.here, all.here), std::max(most_gradients_.apart, all.apart)};
}

void ShardedStrategy::settle_gradients() {
  for (ShardUnit& unit : units_) unit.settle_gradients();
}

// The sum over the parts of the shard group; replicas hold equal parts, and every rank the same whole ones.
at::Tensor ShardedStrategy::clip_gradients(double max_norm, const at::Tensor& loss_scale) {
  settle_gradients();
  const at::Device device = communicator_.device();
  const at::NoGradGuard no_grad;
  const at::Tensor squares = optim::squared_gradient_norm(sharded_, device);
  mesh_.shard().all_reduce(squares, comm::Reduction::kSum);
  const optim::Clipping clipping =
      optim::clipping_of(squares + optim::squared_gradient_norm(whole_, device), max_norm, loss_scale);
  factor_ = clipping.factor;
  return clipping.norm;
}

void ShardedStrategy::step(const optim::Pace& pace) {
  optim::Pace clipped = pace;
  clipped.gradient_factor = factor_;
  if (copies_) copies_->wait_for_fetches();
  optimizer_->step(clipped);
  for (const ShardedParameter& parameter : parameters_) let_go_of_pages(parameter.shard());
  parameters_changed();
}

void ShardedStrategy::zero_gradients() {
  factor_.reset();
  for (ShardedParameter& parameter : parameters_) parameter.drop_gradients();
}

void ShardedStrategy::parameters_changed() {
  for (ShardUnit& unit : units_) unit.invalidate();
}

bool ShardedStrategy::written_here(const ShardedParameter& parameter) const {
  return parameter.is_sharded() ? mesh_.replicate().rank() == 0 : communicator_.rank() == 0;
}

StatePart ShardedStrategy::part(const ShardedParameter& parameter, const std::string& state,
                                const at::Tensor& tensor) const {
  if (tensor.sizes() == parameter.local_shard().sizes()) {
    return {parameter.name(), state, parameter.shape(), parameter.offset(), tensor, written_here(parameter)};
  }
  // One number for the whole parameter, the same on all ranks.
  const std::vector<int64_t> zeros(static_cast<size_t>(tensor.dim()), 0);
  return {parameter.name(), state, tensor.sizes().vec(), zeros, tensor, communicator_.rank() == 0};
}

void ShardedStrategy::visit_parameters(const StateVisitor& visitor, Access /*access*/) {
  for (const ShardedParameter& parameter : parameters_) {
    if (parameter.local_shard().numel() > 0) visitor(part(parameter, "", parameter.local_shard()));
    let_go_of_pages(parameter.shard());
  }
}

void ShardedStrategy::visit_whole_parameters(const std::vector<size_t>& order, const WholeVisitor& visitor) {
  const bool shows = communicator_.rank() == 0;
  for (const size_t index : order) {
    const ShardedParameter& parameter = parameters_.at(index);
    at::Tensor whole = parameter.local_shard();
    if (parameter.is_sharded() && mesh_.replicate().rank() == 0) {
      const at::Tensor mine = parameter.shard().to(communicator_.device());
      const at::Tensor all =
          shows ? at::empty({mine.numel() * mesh_.shard().world_size()}, mine.options()) : at::Tensor();
      mesh_.shard().gather(all, mine, 0);
      if (shows) whole = all.narrow(0, 0, parameter.leaf().numel()).view(parameter.shape());
    }
    visitor(index, shows ? whole : at::Tensor());
    let_go_of_pages(parameter.shard());
  }
}

void ShardedStrategy::visit_optimizer_state(const StateVisitor& visitor, Access access) {
  optimizer_->visit_state(
      [&](size_t index, const std::string& state, const at::Tensor& tensor) {
        visitor(part(*optimizer_order_[index], state, tensor));
      },
      access);
}

StateBytes ShardedStrategy::state_bytes() const {
  StateBytes bytes;
  for (const ShardedParameter& parameter : parameters_) bytes.parameters += parameter.parameter_bytes();
  if (optimizer_) bytes.optimizer = optimizer_->state_bytes();
  bytes.gradients = most_gradients_.here + most_gradients_.apart;
  bytes.gathered_peak = gathered_.peak;
  return bytes;
}

}  // namespace hftrain::parallel

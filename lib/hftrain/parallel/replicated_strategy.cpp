#include "hftrain/parallel/replicated_strategy.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/engine.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "hftrain/base/hash.h"
#include "hftrain/optim/gradient_norm.h"

namespace hftrain::parallel {
namespace {

constexpr size_t kBroadcastBytes = size_t{250} << 20;  // per message when parameters are made equal

}  // namespace

ReplicatedStrategy::ReplicatedStrategy(const plan::StrategyPlan& plan, ParameterList parameters,
                                       OptimizerMaker make_optimizer, comm::Communicator& communicator)
    : plan_(plan),
      list_(std::move(parameters)),
      make_optimizer_(std::move(make_optimizer)),
      communicator_(communicator) {
  for (const NamedParameter& parameter : list_.parameters) {
    if (parameter.tensor.requires_grad()) trainable_.push_back(parameter.tensor);
  }
}

ReplicatedStrategy::~ReplicatedStrategy() = default;

void ReplicatedStrategy::prepare() {
  if (communicator_.world_size() > 1) {
    make_parameters_equal();
    make_reducer();
  }
  std::vector<optim::ParameterGroup> groups;
  for (const double weight_decay : list_.weight_decays) groups.push_back({{}, weight_decay});
  optimizer_order_.clear();
  for (size_t group = 0; group < groups.size(); ++group) {
    for (const NamedParameter& parameter : list_.parameters) {
      if (parameter.group != group || !parameter.tensor.requires_grad()) continue;
      groups[group].parameters.push_back(parameter.tensor);
      optimizer_order_.push_back(parameter.name);
    }
  }
  optimizer_ = make_optimizer_(std::move(groups));
}

// Ranks that read the same files or drew from the same seed already agree. A hash shows it ten times faster
// than sending everything.
bool ReplicatedStrategy::parameters_are_equal() const {
  if (!communicator_.device().is_cpu()) return false;
  Hasher hasher;
  for (const NamedParameter& parameter : list_.parameters) {
    const at::Tensor dense = parameter.tensor.contiguous();
    hasher.update({static_cast<const char*>(dense.const_data_ptr()), dense.nbytes()});
  }
  const std::vector<std::string> hashes = communicator_.all_gather_text(hasher.hex());
  return std::all_of(hashes.begin(), hashes.end(),
                     [&](const std::string& hash) { return hash == hashes[0]; });
}

void ReplicatedStrategy::make_parameters_equal() {
  std::vector<at::Tensor> all;
  for (const NamedParameter& parameter : list_.parameters) all.push_back(parameter.tensor);
  communicator_.guard(
      [&] { c10d::verify_params_across_processes(communicator_.process_group(), all, std::nullopt); });
  if (parameters_are_equal()) return;
  const at::NoGradGuard no_grad;  // leaves that require grad may not be written otherwise
  communicator_.guard(
      [&] { c10d::broadcast_coalesced(communicator_.process_group(), all, kBroadcastBytes, /*rank=*/0); });
}

void ReplicatedStrategy::make_reducer() {
  const auto first = static_cast<size_t>(c10d::kDefaultFirstBucketBytes);
  const size_t cap = static_cast<size_t>(plan_.bucket_cap_mb) << 20;
  std::vector<bool> sparse(trainable_.size(), false);
  auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(trainable_, {first, cap}, sparse);
  std::reverse(buckets.begin(), buckets.end());  // gradients come in reverse order
  reducer_ = std::make_shared<c10d::Reducer>(
      trainable_, std::move(buckets), communicator_.process_group(), std::move(sparse),
      static_cast<int64_t>(cap), plan_.find_unused_parameters,
      /*gradient_as_bucket_view=*/true, std::unordered_map<size_t, std::string>{},
      static_cast<int64_t>(first),
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false, std::vector<int64_t>{});
  // Unused parameters that are others than in the update before are told to the logger, without a look whether there is one.
  logger_ = std::make_shared<c10d::Logger>(reducer_);
  reducer_->set_logger(logger_);
  if (plan_.static_graph.value_or(false)) reducer_->set_static_graph();
}

void ReplicatedStrategy::begin_micro_batch(bool synchronise) {
  synchronise_ = synchronise;
  if (!reducer_) return;
  communicator_.guard([&] {
    if (synchronise) reducer_->prepare_for_forward();
    // It does something once, at the second update, and then before any gradient is there: those that are
    // would move into the buckets, where they are divided by the ranks and not multiplied by the inverse as
    // at every other update, and a run that was resumed would differ in last bits from one that was not.
    reducer_->rebuild_buckets();
  });
}

void ReplicatedStrategy::backward(const at::Tensor& loss) {
  if (!reducer_ || !synchronise_) {
    loss.backward();
    return;
  }
  // A static graph finds them once, in the first pass.
  const bool find_unused = plan_.find_unused_parameters && !plan_.static_graph.value_or(false);
  reducer_->prepare_for_backward(find_unused ? std::vector<at::Tensor>{loss} : std::vector<at::Tensor>{});
  if (plan_.static_graph.value_or(false) && first_reduction_) delay_first_reduction(loss);
  first_reduction_ = false;
  communicator_.guard([&] { loss.backward(); });
}

// With a static graph the first backward pass only records which parameters are used how often; its reduction
// is started by hand when the pass is over.
void ReplicatedStrategy::delay_first_reduction(const at::Tensor& loss) {
  loss.register_hook([reducer = reducer_](const at::Tensor&) {
    torch::autograd::Engine::get_default_engine().queue_callback([reducer] { reducer->delay_all_reduce(); });
  });
}

// Gradients are the same on all ranks after the reduction, so every rank has the same norm.
at::Tensor ReplicatedStrategy::clip_gradients(double max_norm, const at::Tensor& loss_scale) {
  const at::Tensor squares = optim::squared_gradient_norm(trainable_, communicator_.device());
  const optim::Clipping clipping = optim::clipping_of(squares, max_norm, loss_scale);
  factor_ = clipping.factor;
  return clipping.norm;
}

void ReplicatedStrategy::step(const optim::Pace& pace) {
  optim::Pace clipped = pace;
  clipped.gradient_factor = factor_;
  optimizer_->step(clipped);
}

void ReplicatedStrategy::zero_gradients() {
  int64_t bytes = 0;
  for (const at::Tensor& parameter : trainable_) {
    if (parameter.grad().defined()) bytes += static_cast<int64_t>(parameter.grad().nbytes());
  }
  most_gradient_bytes_ = std::max(most_gradient_bytes_, bytes);
  factor_.reset();
  // Dropped, not filled: the next backward pass then moves its results in instead of adding to zeros.
  optimizer_->zero_grad(/*to_none=*/true);
}

StatePart ReplicatedStrategy::whole(const std::string& parameter, const std::string& state,
                                    const at::Tensor& tensor) const {
  return {.parameter = parameter,
          .state = state,
          .shape = tensor.sizes().vec(),
          .offset = std::vector<int64_t>(static_cast<size_t>(tensor.dim()), 0),
          .tensor = tensor,
          .written_here = communicator_.rank() == 0};
}

void ReplicatedStrategy::visit_parameters(const StateVisitor& visitor, Access /*access*/) {
  for (const NamedParameter& parameter : list_.parameters)
    visitor(whole(parameter.name, "", parameter.tensor));
}

void ReplicatedStrategy::visit_whole_parameters(const std::vector<size_t>& order,
                                                const WholeVisitor& visitor) {
  const bool shows = communicator_.rank() == 0;
  for (const size_t i : order) visitor(i, shows ? list_.parameters.at(i).tensor : at::Tensor());
}

void ReplicatedStrategy::visit_optimizer_state(const StateVisitor& visitor, Access access) {
  optimizer_->visit_state(
      [&](size_t index, const std::string& state, const at::Tensor& tensor) {
        visitor(whole(optimizer_order_[index], state, tensor));
      },
      access);
}

StateBytes ReplicatedStrategy::state_bytes() const {
  StateBytes bytes;
  for (const NamedParameter& parameter : list_.parameters)
    bytes.parameters += static_cast<int64_t>(parameter.tensor.nbytes());
  if (optimizer_) bytes.optimizer = optimizer_->state_bytes();
  bytes.gradients = most_gradient_bytes_;
  return bytes;
}

}  // namespace hftrain::parallel

#include "hftrain/parallel/sharding_runner.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/plan/rank_memory.h"

namespace hftrain::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

std::vector<size_t> owners_of(const nn::Unit& unit, const std::vector<size_t>& owners) {
  std::vector<size_t> units;
  for (const int parameter : unit.parameters) {
    const size_t owner = owners.at(static_cast<size_t>(parameter));
    if (std::find(units.begin(), units.end(), owner) == units.end()) units.push_back(owner);
  }
  return units;
}

bool needs_gradient(const at::Tensor& tensor) {
  return tensor.defined() && tensor.requires_grad();
}

// Of a unit's output and what else it was given the output. Backward goes on to all of them, without a gradient but to the first: what
// a layer that is dropped on this rank leaves out may be all that leads to an earlier unit, which the others then gather.
struct Joined : Function<Joined> {
  static at::Tensor forward(AutogradContext* ctx, at::TensorList output_and_others) {
    ctx->set_materialize_grads(false);
    ctx->saved_data["others"] = static_cast<int64_t>(output_and_others.size()) - 1;
    return output_and_others.front().view_as(output_and_others.front());
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    variable_list to(1 + static_cast<size_t>(ctx->saved_data["others"].toInt()));
    to.front() = grads.front();
    return to;
  }
};

bool is_floating(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_floating_point();
}

// An output then needs a gradient wherever parameters or entries do, whatever the unit has left out on this rank.
void join(at::TensorList parameters, const std::vector<at::Tensor>& entries,
          std::vector<at::Tensor>& outputs) {
  auto output = std::ranges::find_if(outputs, needs_gradient);
  const bool learns = output != outputs.end();
  if (!learns) output = std::ranges::find_if(outputs, is_floating);
  if (output == outputs.end()) return;
  std::vector<at::Tensor> joined = {*output};
  std::ranges::copy_if(entries, std::back_inserter(joined), needs_gradient);
  if (!learns) std::ranges::copy_if(parameters, std::back_inserter(joined), needs_gradient);
  if (joined.size() > (learns ? 2 : 1))  // of what learns one entry leads on in any case
    *output = Joined::apply(at::TensorList(joined));
}

}  // namespace

ShardingRunner::ShardingRunner(std::deque<ShardUnit>& units, const std::vector<size_t>& owners,
                               const std::vector<nn::Unit>& model_units, const PrefetchPolicy& prefetch)
    : units_(units), prefetch_(prefetch), progress_(units.size()) {
  for (Progress& progress : progress_) progress.first_use = model_units.size();
  for (size_t index = 0; index < model_units.size(); ++index) {
    uses_.push_back({owners_of(model_units[index], owners)});
    for (const size_t unit : uses_.back().units) {
      progress_[unit].first_use = std::min(progress_[unit].first_use, index);
      progress_[unit].last_use = index;
    }
  }
  for (size_t unit = units.size(); unit-- > 0;) {
    if (units[unit].trainable_parameters() > 0) reduction_order_.push_back(unit);
  }
  std::stable_sort(reduction_order_.begin(), reduction_order_.end(),
                   [this](size_t a, size_t b) { return progress_[a].first_use > progress_[b].first_use; });
}

std::vector<at::Tensor> ShardingRunner::run(const nn::Unit& unit, at::TensorList parameters,
                                            at::TensorList inputs, const nn::UnitFunction& function) {
  const auto index = static_cast<size_t>(unit.index);
  gather(uses_.at(index));
  expect(index + 1);
  if (prefetch_.forward) prefetch_after(index);
  const bool training = at::GradMode::is_enabled();
  // Nodes of its own: their gradients are complete when everything of this unit has run backward, and come
  // before those of whatever made the inputs.
  std::vector<at::Tensor> entries = inputs.vec();
  for (at::Tensor& entry : entries) {
    if (training && needs_gradient(entry)) entry = entry.view_as(entry);
  }
  std::vector<at::Tensor> outputs = function(parameters, entries);
  if (training) join(parameters, entries, outputs);
  uses_[index].watched = training && std::any_of(outputs.begin(), outputs.end(), needs_gradient);
  if (uses_[index].watched) watch(index, entries, outputs);
  release_after_forward(index);
  return outputs;
}

void ShardingRunner::gather(const Use& use) {
  for (const size_t unit : use.units) units_[unit].start_gather();
  for (const size_t unit : use.units) units_[unit].finish_gather();
}

void ShardingRunner::expect(size_t index) {
  if (index >= uses_.size()) return;
  for (const size_t unit : uses_[index].units) units_[unit].expect();
}

void ShardingRunner::prefetch_after(size_t index) {
  const size_t end = prefetch_.limited ? std::min(index + 2, uses_.size()) : uses_.size();
  for (size_t next = index + 1; next < end; ++next) {
    for (const size_t unit : uses_[next].units) units_[unit].start_gather();
  }
}

void ShardingRunner::prefetch_before(size_t index) {
  for (size_t next = index; next-- > 0;) {
    if (!uses_[next].watched) continue;
    for (const size_t unit : uses_[next].units) units_[unit].start_gather();
    if (prefetch_.limited) return;
  }
}

void ShardingRunner::release_after_forward(size_t index) {
  if (index + 1 == uses_.size() && uses_[index].watched) return;  // backward begins with it
  for (const size_t unit : uses_[index].units) {
    if (units_[unit].reshard() && progress_[unit].last_use == index) units_[unit].release();
  }
}

void ShardingRunner::watch(size_t index, at::TensorList entries, at::TensorList outputs) {
  for (const at::Tensor& output : outputs) {
    if (needs_gradient(output))
      output.register_hook([this, index](const at::Tensor&) { before_backward(index); });
  }
  for (const at::Tensor& entry : entries) {
    if (!needs_gradient(entry)) continue;
    ++uses_[index].open_inputs;
    entry.register_hook([this, index](const at::Tensor&) { input_done(index); });
  }
  for (const size_t unit : uses_[index].units) {
    if (uses_[index].open_inputs == 0)
      progress_[unit].has_first_use = true;
    else
      ++progress_[unit].open_uses;
  }
}

void ShardingRunner::begin_pass(bool reduce, bool last) {
  reduce_ = reduce;
  last_ = last;
  next_reduction_ = 0;
  for (Use& use : uses_) {
    use.watched = use.begun = false;
    use.open_inputs = 0;
  }
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    progress_[unit].open_uses = 0;
    progress_[unit].has_first_use = false;
    progress_[unit].missing_gradients = units_[unit].trainable_parameters();
    progress_[unit].ready = false;
  }
}

void ShardingRunner::before_backward(size_t index) {
  if (std::exchange(uses_[index].begun, true)) return;
  gather(uses_[index]);
  if (index > 0) expect(index - 1);
  if (prefetch_.backward == BackwardPrefetch::kPre) prefetch_before(index);
}

void ShardingRunner::input_done(size_t index) {
  if (--uses_[index].open_inputs == 0) after_backward(index);
}

void ShardingRunner::after_backward(size_t index) {
  for (const size_t unit : uses_[index].units) {
    if (--progress_[unit].open_uses == 0) settle_missing(unit);
    release_if_complete(unit);
  }
  if (prefetch_.backward == BackwardPrefetch::kPost) prefetch_before(index);
}

void ShardingRunner::gradient_ready(size_t unit, ShardedParameter& parameter) {
  if (!reduce_) parameter.keep_gradient();
  if (progress_[unit].missing_gradients == 0)
    throw Error(ExitCode::kInternal, "a gradient came when its unit's backward pass was over")
        .where(units_[unit].name());
  if (--progress_[unit].missing_gradients > 0) return;
  progress_[unit].ready = true;
  if (reduce_) reduce_in_order();
  release_if_complete(unit);
}

// Leaves come before what made the inputs, so none comes any more. A layer that was dropped has none, and its reduction begins where
// that of the other ranks does, between the same gathers.
void ShardingRunner::settle_missing(size_t unit) {
  if (progress_[unit].missing_gradients == 0 || progress_[unit].has_first_use) return;
  progress_[unit].missing_gradients = 0;
  progress_[unit].ready = true;
  if (reduce_) reduce_in_order();
}

void ShardingRunner::release_if_complete(size_t unit) {
  const Progress& progress = progress_[unit];
  if (progress.open_uses > 0 || progress.missing_gradients > 0) return;
  if (units_[unit].reshard() || last_) units_[unit].release();
}

void ShardingRunner::reduce_in_order() {
  while (next_reduction_ < reduction_order_.size() && progress_[reduction_order_[next_reduction_]].ready) {
    start_reduction(reduction_order_[next_reduction_++]);
  }
}

void ShardingRunner::start_reduction(size_t unit) {
  while (reducing_.size() >= plan::kReductionsAtOnce) pass_on_oldest();
  units_[unit].start_reduction();
  reducing_.push_back(unit);
}

// What goes on between replicas is this rank's part alone, and nobody waits for it before all are on their way.
void ShardingRunner::pass_on_oldest() {
  const size_t unit = reducing_.front();
  reducing_.pop_front();
  if (units_[unit].average_replicas()) {
    averaging_.push_back(unit);
  } else {
    units_[unit].finish_reduction();
  }
}

void ShardingRunner::finish_backward() {
  if (reduce_) {
    for (Progress& progress : progress_) progress.ready = true;
    reduce_in_order();
  }
  while (!reducing_.empty()) pass_on_oldest();
  for (; !averaging_.empty(); averaging_.pop_front()) units_[averaging_.front()].finish_reduction();
  for (ShardUnit& unit : units_) {
    if (unit.reshard() || last_) unit.release();
  }
}

}  // namespace hftrain::parallel

#include "hftrain/trainer/update.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>

#include <cmath>
#include <utility>

namespace hftrain::trainer {

Update::Update(const plan::RunPlan& plan, models::Model& model, nn::UnitRunner& runner,
               parallel::Strategy& strategy, optim::Schedule& schedule, optim::GradientScaler& scaler,
               StepClock& clock, std::unique_ptr<parallel::HostCopies> copies,
               models::ObjectiveMaker make_objective, TrainingStep own_step)
    : plan_(plan),
      model_(model),
      runner_(runner),
      strategy_(strategy),
      schedule_(schedule),
      scaler_(scaler),
      clock_(clock),
      copies_(std::move(copies)),
      make_objective_(std::move(make_objective)),
      own_step_(std::move(own_step)) {}

at::Tensor Update::forward(const models::Batch& columns, const models::Objective& objective) {
  const StepClock::Span span = clock_.span("forward");
  return model_.forward(columns, runner_, objective).loss;
}

at::Tensor Update::forward_backward(const models::Batch& columns, const Divisors& divisors,
                                    const UpdateHooks& hooks) {
  const at::Device device = model_.options().device;
  const at::Tensor items =
      at::scalar_tensor(divisors.labels, at::TensorOptions().dtype(at::kFloat).device(device));
  const models::Objective objective =
      make_objective_(model_.architecture(), columns,
                      {.num_items = items,
                       .micro_batches = divisors.micro_batches,
                       .label_smoothing = plan_.optimizer.label_smoothing,
                       .by_probability = plan_.optimizer.loss_by_probability});
  const at::Tensor loss = forward(columns, objective);
  hooks.before_backward();
  const StepClock::Span span = clock_.span("backward");
  const at::Tensor scale = loss_scale();
  strategy_.backward(scale.defined() ? loss * scale : loss);
  return loss.detach();
}

void Update::accumulate(const LoadedBatch& batch, const Divisors& divisors, bool synchronise,
                        LossAccumulator& losses, int64_t steps_since_log, const UpdateHooks& hooks) {
  const models::Batch columns = on_device(batch.tensors, model_.options().device);
  strategy_.begin_micro_batch(synchronise);
  const auto compute = [&](const models::Batch& given) { return forward_backward(given, divisors, hooks); };
  losses.add(own_step_ ? own_step_(columns, compute) : compute(columns), steps_since_log);
}

std::optional<UpdateResult> Update::run(const std::vector<LoadedBatch>& micro_batches, double divisor,
                                        LossAccumulator& losses, int64_t steps_since_log,
                                        const UpdateHooks& hooks) {
  const Divisors divisors{divisor, static_cast<int64_t>(micro_batches.size())};
  for (size_t i = 0; i < micro_batches.size(); ++i) {
    const bool last = i + 1 == micro_batches.size();
    accumulate(micro_batches[i], divisors, last || plan_.batch.sync_each_batch, losses, steps_since_log,
               hooks);
    if (!last) hooks.substep_end();
  }
  std::optional<UpdateResult> known = step(hooks);
  hooks.optimizer_step();
  strategy_.zero_gradients();
  return known;
}

std::optional<UpdateResult> Update::step(const UpdateHooks& hooks) {
  const StepClock::Span span = clock_.span("optimizer");
  if (late()) return step_late(hooks);
  return step_at_once(hooks);
}

at::Tensor Update::loss_scale() const {
  return plan_.precision.gradient_scaler ? scaler_.scale() : at::Tensor();
}

UpdateResult Update::step_at_once(const UpdateHooks& hooks) {
  const at::Tensor norm = strategy_.clip_gradients(plan_.optimizer.max_grad_norm, loss_scale());
  const UpdateResult result = told(facts_of(norm, at::isfinite(norm).logical_not()).cpu(), schedule_.rate());
  hooks.pre_optimizer_step();
  if (result.skipped) return result;
  strategy_.step(schedule_.pace());
  schedule_.step();
  return result;
}

bool Update::late() const {
  return copies_ && strategy_.skips_by_tensor();
}

std::optional<UpdateResult> Update::step_late(const UpdateHooks& hooks) {
  const at::Tensor norm = strategy_.clip_gradients(plan_.optimizer.max_grad_norm, loss_scale());
  // The device is past that update when it comes to this one, which the host has handed out.
  std::optional<UpdateResult> before = settle();
  hooks.pre_optimizer_step();
  optim::Pace pace = schedule_.pace();
  const at::Tensor bad = at::isfinite(norm).logical_not();
  pace.skip = bad.to(at::kFloat);
  strategy_.step(pace);
  const at::Tensor facts = facts_of(norm, bad);
  const at::Tensor there =
      at::empty(facts.sizes(), facts.options().device(at::kCPU).pinned_memory(!facts.is_cpu()));
  copies_->start(there, facts);
  waiting_ = {there, copies_->mark(), schedule_.rate()};
  return before;
}

std::optional<UpdateResult> Update::settle() {
  if (!waiting_) return std::nullopt;
  const Waiting last = *std::exchange(waiting_, std::nullopt);
  copies_->wait(last.mark);
  const UpdateResult result = told(last.facts, last.rate);
  result.skipped ? strategy_.was_skipped() : schedule_.step();
  return result;
}

at::Tensor Update::facts_of(const at::Tensor& norm, const at::Tensor& bad) {
  if (!plan_.precision.gradient_scaler) return norm.view({1});
  return at::stack({norm, scaler_.update(bad).to(at::kFloat)});
}

UpdateResult Update::told(const at::Tensor& facts, double rate) const {
  const float* numbers = facts.const_data_ptr<float>();
  if (facts.numel() > 1 && numbers[1] != 0) scaler_.refuse_scale();
  return {.grad_norm = numbers[0], .learning_rate = rate, .skipped = !std::isfinite(numbers[0])};
}

}  // namespace hftrain::trainer

// Every rank holds everything: one rank alone, or data parallelism by LibTorch's c10d::Reducer, which reduces
// gradients in buckets while the backward pass is still running.
#pragma once

#include <memory>

#include "hftrain/comm/communicator.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/plan/run_plan.h"

namespace c10d {
class Logger;
class Reducer;
}  // namespace c10d

namespace hftrain::parallel {

class ReplicatedStrategy final : public Strategy {
 public:
  // `communicator` must outlive the strategy.
  ReplicatedStrategy(const plan::StrategyPlan& plan, ParameterList parameters, OptimizerMaker make_optimizer,
                     comm::Communicator& communicator);
  ~ReplicatedStrategy() override;

  void prepare() override;
  nn::UnitRunner& unit_runner() override { return runner_; }
  void begin_micro_batch(bool synchronise) override;
  void backward(const at::Tensor& loss) override;
  at::Tensor clip_gradients(double max_norm, const at::Tensor& loss_scale) override;
  void step(const optim::Pace& pace) override;
  bool skips_by_tensor() const override { return optimizer_->skips_by_tensor(); }
  void was_skipped() override { optimizer_->was_skipped(); }
  void zero_gradients() override;
  void visit_parameters(const StateVisitor& visitor, Access access) override;
  void parameters_changed() override {}
  void visit_whole_parameters(const std::vector<size_t>& order, const WholeVisitor& visitor) override;
  void visit_optimizer_state(const StateVisitor& visitor, Access access) override;
  StateBytes state_bytes() const override;

 private:
  void make_parameters_equal();
  bool parameters_are_equal() const;
  void make_reducer();
  void delay_first_reduction(const at::Tensor& loss);
  StatePart whole(const std::string& parameter, const std::string& state, const at::Tensor& tensor) const;

  plan::StrategyPlan plan_;
  ParameterList list_;
  OptimizerMaker make_optimizer_;
  comm::Communicator& communicator_;
  nn::UnitRunner runner_;
  std::vector<at::Tensor> trainable_;         // in model order
  std::vector<std::string> optimizer_order_;  // names, as the optimizer numbers its parameters
  std::unique_ptr<optim::Optimizer> optimizer_;
  at::Tensor factor_;                       // of clipping, for the next step; undefined: none
  std::shared_ptr<c10d::Reducer> reducer_;  // null in a world of one
  std::shared_ptr<c10d::Logger> logger_;    // of the reducer, which knows it weakly
  bool synchronise_ = true;                 // in the present micro-batch
  bool first_reduction_ = true;
  int64_t most_gradient_bytes_ = 0;
};

}  // namespace hftrain::parallel

// Parameters, gradients and optimizer state cut into parts over the ranks: ZeRO stages 1 to 3, alone or with
// replicas (hybrid). One class: the stage, the mesh, the units and the place of the shards are values of the
// plan.
//
//   stage   leaf's memory              gradients                                    parameters are gathered
//   1       always there               whole until the last micro-batch, then part  at their first use after a step
//   2       always there               reduced to this rank's part in every pass    at their first use after a step
//   3       per unit, while it is used reduced to this rank's part in every pass    before each use that finds none
//
// Where the memory is always there and the dtypes agree, the shard is a part of it and needs none of its own.
// Every rank initialises or loads its own parts (visit_parameters); prepare() makes replicas equal.
#pragma once

#include <deque>
#include <memory>

#include "hftrain/comm/communicator.h"
#include "hftrain/comm/mesh.h"
#include "hftrain/parallel/shard_unit.h"
#include "hftrain/parallel/sharded_parameter.h"
#include "hftrain/parallel/sharding_runner.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::parallel {

class ShardedStrategy final : public Strategy {
 public:
  // Collective. The leaves lose their values and, in stage 3, their memory. A float32 leaf takes the dtype of
  // the forward pass, `compute`, and its shard stays float32. `model_units` are the model's: they say which
  // parameters are used when. `communicator` must outlive the strategy. With offload, `copies` bring gradients to the
  // host; null: nothing lies apart.
  ShardedStrategy(const plan::StrategyPlan& plan, const ParameterList& parameters,
                  const std::vector<nn::Unit>& model_units, at::ScalarType compute,
                  OptimizerMaker make_optimizer, comm::Communicator& communicator,
                  std::unique_ptr<HostCopies> copies);
  ~ShardedStrategy() override;

  void prepare() override;
  nn::UnitRunner& unit_runner() override { return *runner_; }
  void begin_micro_batch(bool synchronise) override;
  void backward(const at::Tensor& loss) override;
  at::Tensor clip_gradients(double max_norm, const at::Tensor& loss_scale) override;
  void step(const optim::Pace& pace) override;
  bool skips_by_tensor() const override { return optimizer_->skips_by_tensor(); }
  void was_skipped() override { optimizer_->was_skipped(); }
  void zero_gradients() override;
  void visit_parameters(const StateVisitor& visitor, Access access) override;
  void parameters_changed() override;
  void visit_whole_parameters(const std::vector<size_t>& order, const WholeVisitor& visitor) override;
  void visit_optimizer_state(const StateVisitor& visitor, Access access) override;
  StateBytes state_bytes() const override;

 private:
  ShardPlacement placement_of(const NamedParameter& parameter, at::ScalarType compute) const;
  void make_units(size_t parameters);
  void watch_gradients();
  void make_replicas_equal();
  void connect_for_saves();
  void settle_gradients();
  std::vector<at::Tensor> shards_in_order();
  StatePart part(const ShardedParameter& parameter, const std::string& state, const at::Tensor& tensor) const;
  bool written_here(const ShardedParameter& parameter) const;

  plan::StrategyPlan plan_;
  std::unique_ptr<HostCopies> copies_;
  OptimizerMaker make_optimizer_;
  std::vector<double> weight_decays_;
  comm::Communicator& communicator_;
  comm::Mesh mesh_;
  GatheredBytes gathered_;
  std::deque<ShardedParameter> parameters_;  // in model order
  std::deque<ShardUnit> units_;              // in the plan's order
  std::vector<size_t> owners_;               // by parameter: its unit
  std::unique_ptr<ShardingRunner> runner_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<const ShardedParameter*> optimizer_order_;  // as the optimizer numbers its tensors
  std::vector<at::Tensor> sharded_, whole_;               // the optimizer's tensors: parts; in one part
  at::Tensor factor_;                                     // of clipping, for the next step; undefined: none
  GradientBytes most_gradients_;                          // each at its own fullest moment
};

}  // namespace hftrain::parallel

// Gathers the parameters of a model's units before their maths and frees them after it, forward and backward,
// and sends the gradients on their way as the backward pass produces them.
//
// A model unit may use parameters of several units of the plan (a tied weight), and a unit of the plan may
// serve several model units (one unit for the whole model). In the forward pass a plan unit that reshards is
// freed after its last use, but for those of the model's last unit: with these the backward pass begins. In the
// backward pass it is gathered when the gradient of a using unit's output is there, and freed when all its uses are
// through and all its gradients have come.
//
// Gradients are reduced unit by unit in a fixed order (the reverse of first use), whatever order they come
// in, so that all ranks issue the same operations. All ranks run the same units, though one may leave out what is in them (a layer that is
// dropped); a trainable parameter that gets no gradient in a pass counts as zero.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "hftrain/nn/unit_runner.h"
#include "hftrain/parallel/shard_unit.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::parallel {

enum class BackwardPrefetch { kNone, kPre, kPost };

struct PrefetchPolicy {
  bool forward = false;  // the next unit's gather starts before this unit's maths
  BackwardPrefetch backward = BackwardPrefetch::kPre;
  bool limited = true;  // one model unit ahead; otherwise all that follow
};

class ShardingRunner final : public nn::UnitRunner {
 public:
  // `units` outlive the runner. `owners[p]` is the position in `units` of parameter p of the model.
  ShardingRunner(std::deque<ShardUnit>& units, const std::vector<size_t>& owners,
                 const std::vector<nn::Unit>& model_units, const PrefetchPolicy& prefetch);

  std::vector<at::Tensor> run(const nn::Unit& unit, at::TensorList parameters, at::TensorList inputs,
                              const nn::UnitFunction& function) override;

  // `reduce`: gradients of the coming pass are reduced; otherwise they stay with the leaves. `last`: units
  // that do not reshard are freed after this pass, too.
  void begin_pass(bool reduce, bool last);
  // From the hook of a leaf, when its gradient is complete. `unit`: the plan's, `parameter` of it.
  void gradient_ready(size_t unit, ShardedParameter& parameter);
  // After the backward pass: whatever is still to be reduced or freed.
  void finish_backward();

 private:
  struct Use {                  // by a model unit
    std::vector<size_t> units;  // of the plan
    bool watched = false;       // in this pass the graph will tell when its backward begins
    bool begun = false;         // its backward, with the gradient of the first of its outputs
    int open_inputs = 0;        // whose gradient is not complete
  };
  struct Progress {  // of a plan unit in this pass
    size_t first_use = 0, last_use = 0;
    int open_uses = 0;           // whose backward is not through
    bool has_first_use = false;  // one that nothing was made before, of whose end nobody tells
    int missing_gradients = 0;
    bool ready = false;  // to be reduced
  };

  void gather(const Use& use);
  void expect(size_t index);  // the model unit that comes next, if there is one
  void prefetch_after(size_t index);
  void prefetch_before(size_t index);
  void release_after_forward(size_t index);
  void watch(size_t index, at::TensorList entries, at::TensorList outputs);
  void before_backward(size_t index);
  void input_done(size_t index);
  void after_backward(size_t index);
  void settle_missing(size_t unit);
  void release_if_complete(size_t unit);
  void reduce_in_order();
  void start_reduction(size_t unit);
  void pass_on_oldest();

  std::deque<ShardUnit>& units_;
  PrefetchPolicy prefetch_;
  std::vector<Use> uses_;           // by model unit
  std::vector<Progress> progress_;  // by plan unit
  std::vector<size_t> reduction_order_;
  size_t next_reduction_ = 0;     // in reduction_order_
  std::deque<size_t> reducing_;   // units, oldest first
  std::deque<size_t> averaging_;  // the same, between replicas
  bool reduce_ = true, last_ = true;
};

}  // namespace hftrain::parallel

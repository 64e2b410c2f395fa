// Takes the model's outputs off the device and hands them to a scorer, so that memory does not grow with the
// split.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "hftrain/plan/run_plan.h"
#include "hftrain/tasks/scorer.h"
#include "hftrain/trainer/batch_loader.h"

namespace hftrain::trainer {

// Used by one thread. Both references must outlive the object.
class OutputCollector {
 public:
  // `pads_on_left`: batches are padded there, and are joined where they are of one length.
  OutputCollector(const plan::EvaluationPlan& plan, bool pads_on_left, tasks::Scorer& scorer)
      : plan_(plan), pads_on_left_(pads_on_left), scorer_(scorer) {}

  // `output`: best ids or logits of the batch on any device; its first `rows` rows count. `loss`: the batch's.
  // Outputs stay on the device for --eval_accumulation_steps batches.
  void add(const LoadedBatch& batch, const at::Tensor& output, int64_t rows, const at::Tensor& loss);
  // Hands over what is left.
  void finish();

 private:
  // Some batches' rows: outputs on the model's device, the rest on the CPU.
  struct Rows {
    std::vector<int64_t> samples;
    at::Tensor output;
    std::vector<at::Tensor> labels, inputs;  // in the order of the plan's names and of the batch's columns
    std::vector<float> losses;               // one for each row
  };
  Rows joined() const;
  bool may_join() const;
  void hand_over(const Rows& rows);

  const plan::EvaluationPlan& plan_;
  bool pads_on_left_;
  tasks::Scorer& scorer_;
  std::vector<std::string> input_names_;
  std::vector<Rows> waiting_;  // a batch each
};

}  // namespace hftrain::trainer

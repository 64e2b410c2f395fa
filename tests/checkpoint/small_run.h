// A run that only saves, for tests of what a disk may do to it: one rank, a few tensors whose numbers follow
// from the step, real checkpoints of either layout.
#pragma once

#include <ATen/ops/arange.h>
#include <ATen/ops/scalar_tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/row_strategy.h"
#include "hftrain/checkpoint/checkpointer.h"
#include "hftrain/checkpoint/run_loader.h"
#include "hftrain/storage/retention.h"

namespace hftrain::testing {

class SmallRun {
 public:
  // `rows` of 4 numbers in the parameter, and as many in its optimizer state.
  SmallRun(storage::FileSystem& files, const std::string& output_dir, const std::string& state_dict,
           int64_t rows = 6)
      : files_(files), rows_(rows), communicator_(comm::make_communicator({}, comm::builtin_backends())) {
    plan_.output_dir = output_dir;
    plan_.model.config = Json{{"model_type", "gpt2"}};
    plan_.model.generation_config = "{}\n";
    plan_.strategy.state_dict = state_dict;
    plan_.saving.total_limit = 2;
    architectures::ParameterSpec spec;
    spec.name = "w";
    spec.shape = {rows, 4};
    table_.parameters = {spec};
  }

  plan::RunPlan& plan() { return plan_; }

  // Commits checkpoint-`step` and deletes what is beyond the limit.
  void save(int64_t step, bool in_background) {
    RowStrategy strategy(0, 1, state_at(step));
    checkpoint::Checkpointer checkpointer(run(strategy), files_);
    const auto retention = [this, step] { retain(step); };
    if (!in_background) {
      checkpointer.save(contents_at(step), retention);
      return;
    }
    checkpointer.begin_save(contents_at(step), retention);
    strategy.forget();  // training goes on and changes everything
    checkpointer.finish_save();
  }

  // True when the checkpoint gives back exactly what was saved at `step`.
  bool holds(const std::string& checkpoint, int64_t step) {
    RowStrategy strategy(0, 1, state_at(step));
    strategy.forget();
    checkpoint::RunLoader loader(run(strategy));
    loader.load_model(checkpoint);
    const checkpoint::CheckpointContents loaded = loader.load_training_state(checkpoint);
    return strategy.equals_wholes() && loaded.step == step && loaded.rank_state.random.cpu == random_at(step);
  }

 private:
  checkpoint::CheckpointedRun run(RowStrategy& strategy) {
    return {plan_, table_, at::kFloat, strategy, *communicator_};
  }
  std::vector<WholeTensor> state_at(int64_t step) const {
    const at::Tensor numbers = at::arange(rows_ * 4, at::kFloat).view({rows_, 4});
    const auto value = static_cast<double>(step);
    return {{"w", "", numbers + value},
            {"w", "step", at::scalar_tensor(value, at::kFloat)},
            {"w", "exp_avg", numbers * value},
            {"w", "exp_avg_sq", numbers - value}};
  }
  static std::string random_at(int64_t step) { return "random " + std::to_string(step); }
  static checkpoint::CheckpointContents contents_at(int64_t step) {
    checkpoint::CheckpointContents contents;
    contents.step = step;
    contents.training_state = {{"state", {{"global_step", step}}}, {"world_size", 1}};
    contents.trainer_state = "{\"global_step\": " + std::to_string(step) + "}\n";
    contents.rank_state = {{random_at(step), ""}, 0.5F};
    return contents;
  }
  void retain(int64_t newest) {
    std::vector<int64_t> steps;
    for (const auto& checkpoint : storage::list_checkpoints(plan_.output_dir))
      steps.push_back(checkpoint.step);
    for (const int64_t step : storage::plan_retention(steps, {}, newest, plan_.saving.total_limit))
      storage::delete_checkpoint(files_, {step, storage::checkpoint_path(plan_.output_dir, step)});
  }

  storage::FileSystem& files_;
  int64_t rows_;
  std::unique_ptr<comm::Communicator> communicator_;
  architectures::ParameterTable table_;
  plan::RunPlan plan_;
};

}  // namespace hftrain::testing

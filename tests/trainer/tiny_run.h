// A language model of a few hundred numbers on made-up tokens, and what a Trainer needs around it: runs of
// milliseconds.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "hftrain/comm/communicator.h"
#include "hftrain/data/dataset.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/trainer.h"

namespace hftrain::testing {

inline constexpr int64_t kVocabulary = 13, kBlock = 6;

// Token `place` of sample `sample`, different from sample to sample.
int64_t token_at(int64_t sample, int64_t place);

// Samples of kBlock tokens in memory.
class MemoryColumn final : public data::ColumnFile {
 public:
  explicit MemoryColumn(int64_t samples, std::optional<int64_t> shorter_one = std::nullopt)
      : samples_(samples), shorter_one_(shorter_one) {}
  int64_t size() const override { return samples_; }
  int64_t length(int64_t sample) const override { return sample == shorter_one_ ? kBlock - 1 : kBlock; }
  bool floats() const override { return false; }
  void copy_to(int64_t sample, int64_t* target) const override;
  void copy_to(int64_t, float*) const override { throw std::logic_error("tokens are whole numbers"); }

 private:
  int64_t samples_;
  std::optional<int64_t> shorter_one_;  // a sample with a token less
};

// A split with those samples as its input_ids.
std::shared_ptr<const data::Dataset> memory_dataset(int64_t samples,
                                                    std::optional<int64_t> shorter_one = std::nullopt);

// A plan for one rank on the CPU: SGD at a constant rate, no clipping, no dropout, batches of 2 in the order
// of the data.
plan::RunPlan tiny_plan();

// The same with a token cache of so many samples in `folder`, for training and for validation, and the output
// folder made.
plan::RunPlan tiny_plan(const std::string& folder, const std::string& output, int64_t samples);

// What a run did, seen by a callback.
struct Seen {
  std::vector<int64_t> logged, evaluated, saved, begun;  // updates
  std::vector<double> losses, rates, norms, eval_losses;
  int64_t steps = 0, substeps = 0, epochs = 0;
  trainer::RunOutcome outcome;
  trainer::State state;  // at the end of training
  std::vector<std::string> messages;
};

// Trains as the plan says. `at_step_end` may change the control.
Seen train(const plan::RunPlan& plan, comm::Communicator& communicator,
           std::function<void(const trainer::State&, trainer::Control&)> at_step_end = {},
           trainer::Extensions extensions = {});
Seen train(const plan::RunPlan& plan,
           std::function<void(const trainer::State&, trainer::Control&)> at_step_end = {});

}  // namespace hftrain::testing

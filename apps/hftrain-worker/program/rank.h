// What stands behind hftrain::Rank: the rank that a program's Trainer is made for.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/architectures/head.h"
#include "hftrain/models/batch.h"
#include "hftrain/plugin/callback.h"
#include "hftrain/plugin/run.h"
#include "hftrain/program/trainer.h"
#include "hftrain/trainer/extensions.h"
#include "hftrain/trainer/plugin_guard.h"
#include "hftrain/trainer/trainer.h"
#include "run_rank.h"

namespace hftrain {

// Used on the main thread. What it refers to outlives it.
class Rank {
 public:
  Rank(const worker::RankParts& given, const Overridden& overridden);

  // The program's one Trainer says that it is there, in its constructor. std::logic_error for a second one.
  void belong_to(Trainer& own, Optimizers given);
  const Optimizers& given() const { return given_; }
  // What the program does as a rank.
  static trainer::RunOutcome train(const worker::RankParts& parts, const Program& program);
  // Opens the model and what the run goes on from. Collective.
  std::shared_ptr<trainer::Trainer> open();
  // Forward and backward, while training_step of the program is called; std::logic_error otherwise.
  at::Tensor forward_backward(const Batch& inputs);
  // What the run would load, while the program is asked for a data loader.
  std::unique_ptr<DataLoader> loader_of_run();
  // Forward, while prediction_step of the program is called.
  Prediction forward(const Batch& inputs);

  const worker::RankParts& parts;
  const Overridden overridden;
  const plugin::Run run;
  std::vector<std::pair<std::string, std::unique_ptr<plugin::Callback>>> callbacks;

 private:
  void add_callbacks(trainer::Extensions& extensions);
  void add_methods(trainer::Extensions& extensions);
  void add_loaders(trainer::Extensions& extensions);
  void add_schedule(trainer::Extensions& extensions);
  void add_optimizer(trainer::Extensions& extensions);  // after the schedule
  void check_flags() const;
  void check_losses(const trainer::Extensions& of_plugin) const;
  void say_none(const std::string& method, bool passed_in) const;
  void say_idle(std::initializer_list<const char*> flags, const std::string& what) const;
  void say_still_momentum() const;
  architectures::Head head() const;
  trainer::Prediction own_prediction(const models::Batch& columns, const trainer::Predict& predict);
  at::Tensor own_step(const models::Batch& columns, const trainer::ForwardBackward& compute);

  Trainer* own_ = nullptr;
  std::unique_ptr<DataLoader> of_run_;  // while a loader is asked for
  Optimizers given_;
  const trainer::ForwardBackward* compute_ = nullptr;  // of the step that is being taken
  const trainer::Predict* predict_ = nullptr;          // of the same
  const models::Batch* predicted_ = nullptr;           // the run's, of the same
  int computed_ = 0;                                   // times, in that step
};

// `name`: of a part of the program, "its Trainer".
trainer::PluginPart part_of_program(const std::string& name);

}  // namespace hftrain

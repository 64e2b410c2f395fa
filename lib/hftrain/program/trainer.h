// A training program of your own: hftrain with a Trainer that does some things another way.
//
//   class MyTrainer : public hftrain::Trainer {
//    public:
//     using Trainer::Trainer;
//     at::Tensor compute_loss(const LossInput& input) override { return input.model_loss() + penalty(input.logits()); }
//   };
//   int main(int argc, char** argv) { return hftrain::main<MyTrainer>(argc, argv); }
//
// It takes the flags and commands of `hftrain`, which it starts: that prepares the data, makes the plan and runs this program again
// as each of the ranks. Link hftrain::hftrain of find_package(hftrain). docs/library.md has the whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "hftrain/plugin/callback.h"
#include "hftrain/plugin/loss.h"
#include "hftrain/plugin/run.h"
#include "hftrain/program/data_loader.h"
#include "hftrain/program/note.h"
#include "hftrain/program/optimizer.h"

namespace hftrain {

class Rank;  // one process of a run, as the program is handed it

// Of a micro-batch in an evaluation or a prediction.
struct Prediction {
  at::Tensor loss;    // float32 scalar; undefined: the split has no labels
  at::Tensor output;  // [B, …], as EvalPrediction has it of all samples; undefined: nothing is kept
};

// All N samples of a split in its order, on the CPU; what is shorter than the longest is filled up with -100.
struct EvalPrediction {
  // [N, …]: int64 ids of classes, tags or tokens, the best of their logits, or of a text that was written; float32 scores of regression, of
  // several labels at once, of the ends of answers.
  at::Tensor predictions;
  Batch labels;  // [N, …] by column, as batches have them (those of language models are not shifted)
};

// One on each rank, made and called on its main thread; a method that computes is called on all ranks alike. What a method of yours
// throws ends the run with a message that names the program and the method. Methods are overridden as public ones.
class Trainer {
 public:
  using LossInput = plugin::LossInput;
  using Metrics = plugin::Metrics;

  // The model is opened, and what the run goes on from, between the constructor and run().
  explicit Trainer(Rank& rank, Optimizers optimizers = {});
  virtual ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // In a constructor, and the same on all ranks. Checkpoints keep its state under the name.
  void add_callback(std::string name, std::unique_ptr<plugin::Callback> callback);
  const plugin::Run& about_run() const;

  // What the program does on every rank: training, evaluation and prediction, each where its flag asks for it.
  virtual void run();
  // The numbers of the end of training, of the last evaluation (one during training counts), of the last prediction; empty: there
  // was none, as it was not asked for or the run was stopped before. Collective. train() once. What they throw is of hftrain, and
  // ends the run also where it is caught.
  virtual Metrics train();
  virtual Metrics evaluate();
  virtual Metrics predict();

  // A float32 scalar, in training and in evaluation; without one of yours input.model_loss().
  virtual at::Tensor compute_loss(const LossInput& input);
  // Those of Trainer give the run's own batches, to be changed or left out. Of evaluation and prediction each batch stands for the one of the
  // run in its place and has as many rows. Asked for when training begins, and for each evaluation.
  virtual std::unique_ptr<DataLoader> get_train_dataloader();
  virtual std::unique_ptr<DataLoader> get_eval_dataloader();
  virtual std::unique_ptr<DataLoader> get_test_dataloader();
  // Forward and backward of a micro-batch, whose columns are on the device: changes the inputs and calls that of Trainer, once. The loss that is logged: a float32
  // scalar.
  virtual at::Tensor training_step(const Batch& inputs);
  // Forward of a micro-batch, without gradients: changes the inputs (labels stay there), calls that of Trainer, changes what it gives. The shape of the output
  // stays, and whether it has ids or scores.
  virtual Prediction prediction_step(const Batch& inputs);
  // Numbers of an evaluation or a prediction beside those of its task, under names without eval_ or predict_. All ranks keep all
  // outputs; what rank 0 gives counts on all.
  virtual Metrics compute_metrics(const EvalPrediction& all);
  // Each record before it goes to the console, to log.jsonl, to trackers and to on_log; may add to it and take away; `step`, `epoch`
  // and `time` are its own. Evaluations decide over checkpoints by what they have measured.
  virtual void log(Metrics& record);
  // Made once; nothing: those that were passed in, or those of the flags, which the run says.
  virtual std::unique_ptr<Optimizer> create_optimizer(const std::vector<ParameterGroup>& groups);
  virtual Schedule create_scheduler(int64_t training_updates);

 private:
  friend class Rank;
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

// Which methods are not those of Trainer: the others cost nothing.
struct Overridden {
  bool compute_loss = false, training_step = false, prediction_step = false, compute_metrics = false,
       log = false, get_train_dataloader = false, get_eval_dataloader = false, get_test_dataloader = false,
       create_optimizer = false, create_scheduler = false;
};

struct Program {
  int interface = HFTRAIN_PROGRAM_INTERFACE;
  std::unique_ptr<Trainer> (*make)(Rank& rank) = nullptr;
  Overridden overridden;
};

// The rest of main(): an exit code.
extern "C" int hftrain_program_main(int argc, char** argv, const Program& program);

// What a method is but for its class; void of one that could not be called as Trainer's are.
template <typename Method>
struct Signature {
  using Type = void;
};
template <typename Result, typename Class, typename... Arguments>
struct Signature<Result (Class::*)(Arguments...)> {
  using Type = Result(Arguments...);
};
template <typename Result, typename Class, typename... Arguments>
struct Signature<Result (Class::*)(Arguments...) noexcept> {
  using Type = Result(Arguments...);
};

// What hides a method of Trainer would never be called.
#define HFTRAIN_CHECK_METHOD(METHOD)                                                  \
  static_assert(std::is_same_v<typename Signature<decltype(&Own::METHOD)>::Type,      \
                               typename Signature<decltype(&Trainer::METHOD)>::Type>, \
                "your " #METHOD                                                       \
                " has the name of a method of hftrain::Trainer and is another one: "  \
                "declare it as in hftrain/program/trainer.h, with override")
#define HFTRAIN_OVERRIDDEN(METHOD) (!std::is_same_v<decltype(&Own::METHOD), decltype(&Trainer::METHOD)>)

template <typename Own>
constexpr void check_methods() {
  HFTRAIN_CHECK_METHOD(run);
  HFTRAIN_CHECK_METHOD(train);
  HFTRAIN_CHECK_METHOD(evaluate);
  HFTRAIN_CHECK_METHOD(predict);
  HFTRAIN_CHECK_METHOD(compute_loss);
  HFTRAIN_CHECK_METHOD(training_step);
  HFTRAIN_CHECK_METHOD(prediction_step);
  HFTRAIN_CHECK_METHOD(compute_metrics);
  HFTRAIN_CHECK_METHOD(log);
  HFTRAIN_CHECK_METHOD(get_train_dataloader);
  HFTRAIN_CHECK_METHOD(get_eval_dataloader);
  HFTRAIN_CHECK_METHOD(get_test_dataloader);
  HFTRAIN_CHECK_METHOD(create_optimizer);
  HFTRAIN_CHECK_METHOD(create_scheduler);
}

// `Own` is made of a Rank alone.
template <typename Own>
int main(int argc, char** argv) {
  static_assert(std::is_base_of_v<Trainer, Own>, "a Trainer of your own is derived from hftrain::Trainer");
  check_methods<Own>();
  Program program;
  program.make = [](Rank& rank) -> std::unique_ptr<Trainer> { return std::make_unique<Own>(rank); };
  program.overridden = {.compute_loss = HFTRAIN_OVERRIDDEN(compute_loss),
                        .training_step = HFTRAIN_OVERRIDDEN(training_step),
                        .prediction_step = HFTRAIN_OVERRIDDEN(prediction_step),
                        .compute_metrics = HFTRAIN_OVERRIDDEN(compute_metrics),
                        .log = HFTRAIN_OVERRIDDEN(log),
                        .get_train_dataloader = HFTRAIN_OVERRIDDEN(get_train_dataloader),
                        .get_eval_dataloader = HFTRAIN_OVERRIDDEN(get_eval_dataloader),
                        .get_test_dataloader = HFTRAIN_OVERRIDDEN(get_test_dataloader),
                        .create_optimizer = HFTRAIN_OVERRIDDEN(create_optimizer),
                        .create_scheduler = HFTRAIN_OVERRIDDEN(create_scheduler)};
  return hftrain_program_main(argc, argv, program);
}

#undef HFTRAIN_CHECK_METHOD
#undef HFTRAIN_OVERRIDDEN

}  // namespace hftrain

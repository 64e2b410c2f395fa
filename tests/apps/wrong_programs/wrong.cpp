// Trainers that do what they may not, or what one hardly expects of them. WRONG (environment) says which one it is.
#include <ATen/ATen.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/program/trainer.h"

namespace {

using namespace hftrain;
using Groups = std::vector<ParameterGroup>;

const char* wrong() {
  const char* word = std::getenv("WRONG");
  return word == nullptr ? "" : word;
}

bool is(const std::string& word) {
  return wrong() == word;
}

// prediction_step

class Predicting final : public Trainer {
 public:
  using Trainer::Trainer;
  Prediction prediction_step(const Batch& inputs) override {
    if (is("predicts_nothing")) return {};
    if (is("predicts_throws")) throw std::runtime_error("no idea");
    Batch given = inputs;
    if (is("predicts_unlabelled")) given.erase("labels");
    Prediction made = Trainer::prediction_step(given);
    if (is("predicts_wider")) made.output = at::cat({made.output, made.output}, 1);
    if (is("predicts_narrower")) made.output = made.output.narrow(1, 0, 1);
    if (is("predicts_int32")) made.output = made.output.to(at::kInt);
    return made;
  }
};

// compute_loss

class Pricing final : public Trainer {
 public:
  using Trainer::Trainer;
  at::Tensor compute_loss(const LossInput& input) override {
    if (is("loss_throws")) throw std::runtime_error("no price");
    if (is("loss_is_cut_off")) return input.model_loss().detach();
    return is("loss_is_logits") ? input.logits() : input.model_loss();
  }
};

// compute_metrics

class Judging final : public Trainer {
 public:
  using Trainer::Trainer;
  // Rises and falls again; on rank 0 alone, as people write it.
  Metrics compute_metrics(const EvalPrediction&) override {
    if (is("judging_throws")) throw std::runtime_error("no judgement");
    if (is("judges_twice")) return {{"mine", 1}, {"mine", 2}};
    if (is("judges_speed")) return {{"runtime", 1}};
    if (is("judges_namelessly")) return {{"", 1}};
    ++calls_;
    if (about_run().rank != 0) return {};
    return {{"mine", calls_ == 2 ? 2.0 : 1.0}};
  }

 private:
  int calls_ = 0;
};

// log

class Telling final : public Trainer {
 public:
  using Trainer::Trainer;
  void log(Metrics& record) override {
    if (is("tells_again")) record.emplace_back("loss", 7);
    if (is("tells_namelessly")) record.emplace_back("", 7);
    for (const char* name : {"step", "epoch", "time"})
      if (is(std::string("tells_") + name)) record.emplace_back(name, 7);
  }
};

// create_optimizer, create_scheduler

class Descending final : public Optimizer {
 public:
  explicit Descending(const Groups& groups) : groups_(groups) {
    if (is("state_comes_late")) return;
    make_states();
  }
  void step(double learning_rate) override {
    if (is("step_throws")) throw std::runtime_error("no way down");
    make_states();
    stepped_ = true;
    for (const ParameterGroup& group : groups_) {
      for (at::Tensor parameter : group.parameters) {
        if (parameter.grad().defined()) parameter.sub_(parameter.grad(), learning_rate);
      }
    }
  }
  std::vector<std::string> state_names() const override {
    if (is("state_twice")) return {"mean", "mean"};
    if (is("state_named_late") && stepped_) return {"mean", "square"};
    return {"mean"};
  }
  at::Tensor state(size_t parameter, const std::string&) const override {
    if (is("state_comes_late") && states_.empty()) return {};
    if (is("state_throws")) throw std::runtime_error("no state");
    if (is("state_is_a_copy")) return states_.at(parameter).clone();
    return states_.at(parameter);
  }

 private:
  void make_states() {
    if (!states_.empty()) return;
    for (const ParameterGroup& group : groups_) {
      for (const at::Tensor& parameter : group.parameters)
        states_.push_back(is("state_of_another_shape") ? at::zeros({3}) : at::zeros_like(parameter));
    }
  }
  Groups groups_;
  std::vector<at::Tensor> states_;
  bool stepped_ = false;
};

std::unique_ptr<Optimizer> descending(const Groups& groups) {
  return std::make_unique<Descending>(groups);
}

double half(int64_t updates) {
  if (is("schedule_throws")) throw std::runtime_error("no rate");
  if (is("schedule_is_none")) return std::nan("");
  return updates < 0 ? 0 : 0.5;
}

class Passing : public Trainer {
 public:
  explicit Passing(Rank& rank) : Trainer(rank, {.optimizer = descending, .scheduler = half}) {}
};

class DescendingByFlags final : public Trainer {
 public:
  explicit DescendingByFlags(Rank& rank) : Trainer(rank, {.optimizer = descending, .scheduler = {}}) {}
};

// Makes nothing, so that what was passed in counts.
class PassingAndMakingNothing final : public Passing {
 public:
  using Passing::Passing;
  std::unique_ptr<Optimizer> create_optimizer(const Groups&) override { return nullptr; }
  Schedule create_scheduler(int64_t) override { return {}; }
};

class MakingNothing final : public Trainer {
 public:
  using Trainer::Trainer;
  std::unique_ptr<Optimizer> create_optimizer(const Groups&) override { return nullptr; }
  Schedule create_scheduler(int64_t) override { return {}; }
};

// Data loaders

class Changing final : public DataLoader {
 public:
  explicit Changing(std::unique_ptr<DataLoader> of_run) : of_run_(std::move(of_run)) {}
  void begin_epoch(int64_t epoch, int64_t skip) override { of_run_->begin_epoch(epoch, skip); }
  std::optional<Batch> next() override {
    std::optional<Batch> batch = of_run_->next();
    if (batch) change(*batch);
    return batch;
  }
  std::optional<int64_t> length() const override {
    if (is("length_throws")) throw std::runtime_error("no length");
    return of_run_->length();
  }

 private:
  static void change(Batch& batch) {
    at::Tensor& labels = batch.at("labels");
    if (is("labels_wider")) labels = at::cat({labels, labels}, 1);
    if (is("labels_narrower")) labels = labels.narrow(1, 0, 8);
    if (is("labels_missing")) {
      batch.erase("labels");
      return;
    }
    if (is("labels_flat")) labels = labels.view(-1);
    if (is("labels_fewer")) labels = labels.narrow(0, 0, 1);
    if (is("labels_int32")) labels = labels.to(at::kInt);
    if (is("labels_beyond")) labels = labels + 10000;
    if (is("ids_int32")) batch.at("input_ids") = batch.at("input_ids").to(at::kInt);
    if (is("ids_beyond")) batch.at("input_ids") = batch.at("input_ids") + 10000;
    if (is("ids_below")) batch.at("input_ids") = batch.at("input_ids") - 10000;
    if (is("mask_wider")) batch["attention_mask"] = at::ones({labels.size(0), 2 * labels.size(1)}, at::kLong);
    if (is("mask_float")) batch["attention_mask"] = at::ones(labels.sizes());
    if (is("positions_beyond")) batch["position_ids"] = at::full(labels.sizes(), 10000, at::kLong);
    if (is("positions_narrower")) batch["position_ids"] = at::zeros({labels.size(0), 3}, at::kLong);
    if (is("column_unknown")) batch["input_idz"] = labels;
    if (is("column_undefined")) batch["labels"] = at::Tensor();
    if (is("ids_missing")) batch.erase("input_ids");
    if (is("too_long")) {
      batch.at("input_ids") = batch.at("input_ids").repeat({1, 2});
      labels = labels.repeat({1, 2});
    }
  }
  std::unique_ptr<DataLoader> of_run_;
};

class LoadingTraining final : public Trainer {
 public:
  using Trainer::Trainer;
  std::unique_ptr<DataLoader> get_train_dataloader() override {
    return std::make_unique<Changing>(Trainer::get_train_dataloader());
  }
};

class LoadingEvaluation final : public Trainer {
 public:
  using Trainer::Trainer;
  std::unique_ptr<DataLoader> get_eval_dataloader() override {
    return std::make_unique<Changing>(Trainer::get_eval_dataloader());
  }
};

// run

class Running final : public Trainer {
 public:
  using Trainer::Trainer;
  void run() override {
    if (is("trains_twice")) {
      train();
      train();
    } else if (is("evaluates_before_and_after")) {
      const Metrics before = evaluate();
      train();
      say("before", before);
      say("after", evaluate());
    } else if (is("swallows")) {
      try {
        train();
      } catch (const std::exception& error) {
        std::cout << "heard of it" << std::endl;
      }
    } else if (is("says_it_again")) {
      try {
        train();
      } catch (const std::exception& error) {
        throw std::runtime_error("it did not work");
      }
    }
  }

 private:
  void say(const std::string& when, const Metrics& numbers) const {
    if (about_run().rank != 0) return;
    for (const auto& [name, value] : numbers)
      if (name == "eval_loss") std::cout << when << ' ' << value << std::endl;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, int (*)(int, char**)> programs = {
      {"predicts", hftrain::main<Predicting>},
      {"prices", hftrain::main<Pricing>},
      {"judges", hftrain::main<Judging>},
      {"tells", hftrain::main<Telling>},
      {"passes", hftrain::main<Passing>},
      {"passes_and_makes_nothing", hftrain::main<PassingAndMakingNothing>},
      {"descends", hftrain::main<DescendingByFlags>},
      {"makes_nothing", hftrain::main<MakingNothing>},
      {"loads_training", hftrain::main<LoadingTraining>},
      {"loads_evaluation", hftrain::main<LoadingEvaluation>},
      {"runs", hftrain::main<Running>}};
  const char* kind = std::getenv("PROGRAM");
  return programs.at(kind == nullptr ? "runs" : kind)(argc, argv);
}

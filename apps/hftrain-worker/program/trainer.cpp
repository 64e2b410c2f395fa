// libhftrain.so: hftrain::Trainer around the one that all runs have.
#include "hftrain/program/trainer.h"

#include <stdexcept>
#include <utility>

#include "program/rank.h"
#include "program/trainer_inner.h"

namespace hftrain {

Trainer::Trainer(Rank& rank, Optimizers optimizers) : inner_(std::make_unique<Inner>(rank)) {
  rank.belong_to(*this, std::move(optimizers));
}

Trainer::~Trainer() = default;

void Trainer::add_callback(std::string name, std::unique_ptr<plugin::Callback> callback) {
  if (inner_->trainer) throw std::logic_error("callbacks are added in the constructor");
  if (!callback) throw std::invalid_argument("the callback '" + name + "' is null");
  inner_->rank.callbacks.emplace_back(std::move(name), std::move(callback));
}

const plugin::Run& Trainer::about_run() const {
  return inner_->rank.run;
}

void Trainer::run() {
  train();
  evaluate();
  predict();
}

Trainer::Metrics Trainer::train() {
  inner_->opened();
  if (std::exchange(inner_->trained, true))
    throw std::logic_error("train() is called a second time, and a run trains once");
  inner_->go_through([](trainer::Trainer& trainer) { trainer.train_as_planned(); });
  return inner_->numbers.train;
}

Trainer::Metrics Trainer::evaluate() {
  inner_->go_through([](trainer::Trainer& trainer) { trainer.evaluate_as_planned(); });
  return inner_->numbers.evaluation;
}

Trainer::Metrics Trainer::predict() {
  inner_->go_through([](trainer::Trainer& trainer) { trainer.predict_as_planned(); });
  return inner_->numbers.prediction;
}

at::Tensor Trainer::compute_loss(const LossInput& input) {
  return input.model_loss();
}

at::Tensor Trainer::training_step(const Batch& inputs) {
  return inner_->rank.forward_backward(inputs);
}

std::unique_ptr<DataLoader> Trainer::get_train_dataloader() {
  return inner_->rank.loader_of_run();
}

std::unique_ptr<DataLoader> Trainer::get_eval_dataloader() {
  return inner_->rank.loader_of_run();
}

std::unique_ptr<DataLoader> Trainer::get_test_dataloader() {
  return inner_->rank.loader_of_run();
}

Prediction Trainer::prediction_step(const Batch& inputs) {
  return inner_->rank.forward(inputs);
}

Trainer::Metrics Trainer::compute_metrics(const EvalPrediction&) {
  return {};
}

void Trainer::log(Metrics&) {}

std::unique_ptr<Optimizer> Trainer::create_optimizer(const std::vector<ParameterGroup>& groups) {
  return inner_->rank.given().optimizer ? inner_->rank.given().optimizer(groups) : nullptr;
}

Schedule Trainer::create_scheduler(int64_t /*training_updates*/) {
  return inner_->rank.given().scheduler;
}

}  // namespace hftrain

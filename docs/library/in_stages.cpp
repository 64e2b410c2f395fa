// create_optimizer, create_scheduler and run: plain gradient descent whose rate is halved after half of the updates, and a word about each
// stage.
#include <ATen/ATen.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/program/trainer.h"

namespace {

class Descent final : public hftrain::Optimizer {
 public:
  explicit Descent(const std::vector<hftrain::ParameterGroup>& groups) : groups_(groups) {}

  void step(double learning_rate) override {
    for (const hftrain::ParameterGroup& group : groups_) {
      for (at::Tensor parameter : group.parameters) {
        if (parameter.grad().defined()) parameter.sub_(parameter.grad(), learning_rate);
      }
    }
  }

 private:
  std::vector<hftrain::ParameterGroup> groups_;
};

class InStages final : public hftrain::Trainer {
 public:
  using Trainer::Trainer;

  std::unique_ptr<hftrain::Optimizer> create_optimizer(
      const std::vector<hftrain::ParameterGroup>& groups) override {
    return std::make_unique<Descent>(groups);
  }
  hftrain::Schedule create_scheduler(int64_t training_updates) override {
    return [training_updates](int64_t updates) { return 2 * updates < training_updates ? 1.0 : 0.5; };
  }

  void run() override {
    say("trained", train());
    say("evaluated", evaluate());
    say("predicted", predict());
  }

 private:
  void say(const std::string& stage, const Metrics& numbers) {
    if (about_run().rank != 0 || numbers.empty()) return;
    std::cout << stage;
    for (const auto& [name, value] : numbers) std::cout << ' ' << name << ' ' << value;
    std::cout << std::endl;
  }
};

}  // namespace

int main(int argc, char** argv) {
  return hftrain::main<InStages>(argc, argv);
}

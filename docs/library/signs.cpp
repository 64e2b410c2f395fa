// An optimizer and a schedule that are passed in: the sign of a running mean of the gradients, at a rate that falls with the root of the
// updates.
#include <ATen/ATen.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/program/trainer.h"

namespace {

class Signs final : public hftrain::Optimizer {
 public:
  explicit Signs(const std::vector<hftrain::ParameterGroup>& groups) : groups_(groups) {
    for (const hftrain::ParameterGroup& group : groups_) {
      for (const at::Tensor& parameter : group.parameters) means_.push_back(at::zeros_like(parameter));
    }
  }

  void step(double learning_rate) override {
    size_t i = 0;
    for (const hftrain::ParameterGroup& group : groups_) {
      for (at::Tensor parameter : group.parameters) {
        at::Tensor mean = means_[i++];
        if (!parameter.grad().defined()) continue;
        mean.mul_(0.9).add_(parameter.grad(), 0.1);
        parameter.mul_(1 - learning_rate * group.weight_decay).sub_(mean.sign(), learning_rate);
      }
    }
  }
  std::vector<std::string> state_names() const override { return {"mean"}; }
  at::Tensor state(size_t parameter, const std::string&) const override { return means_.at(parameter); }

 private:
  std::vector<hftrain::ParameterGroup> groups_;
  std::vector<at::Tensor> means_;
};

class SignTrainer final : public hftrain::Trainer {
 public:
  explicit SignTrainer(hftrain::Rank& rank)
      : Trainer(rank, {.optimizer = [](const std::vector<hftrain::ParameterGroup>& groups)
                           -> std::unique_ptr<hftrain::Optimizer> { return std::make_unique<Signs>(groups); },
                       .scheduler = [](int64_t updates) { return 1 / std::sqrt(1.0 + updates); }}) {}
};

}  // namespace

int main(int argc, char** argv) {
  return hftrain::main<SignTrainer>(argc, argv);
}

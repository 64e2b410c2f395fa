// What the optimizers of this module share: named state tensors beside each parameter, and the walk over
// groups.
#pragma once

#include "hftrain/optim/optimizer.h"

namespace hftrain::optim {

class StatefulOptimizer : public Optimizer {
 public:
  std::vector<std::string> state_names() const override { return names_; }
  at::Tensor state(size_t index, const std::string& name) const override;
  void step(const Pace& pace) final;
  bool skips_by_tensor() const override { return true; }
  void was_skipped() override;
  // From here on as on a device also on the CPU, where numbers can be looked at: for tests.
  void compute_as_on_device() noexcept { as_on_device_ = true; }

 protected:
  // One parameter that has a gradient, with its tensors in the order of state_names().
  struct Item {
    at::Tensor parameter, gradient;
    std::vector<at::Tensor>* state;
  };

  StatefulOptimizer(std::string name, std::vector<ParameterGroup> groups)
      : Optimizer(std::move(name), std::move(groups)) {}
  // Called by the constructor of each optimizer: a tensor per parameter and name, made by `make`.
  using StateMaker = at::Tensor (*)(const at::Tensor& parameter);
  void add_state(const std::string& state_name, StateMaker make);

  // Of an optimizer that has betas: those of this update and the following ones.
  virtual void set_betas(const Betas& betas);
  // Whether `update` reads gradients times gradient_factor() itself, in a pass that it makes anyway; otherwise they have
  // been multiplied before.
  virtual bool applies_factor() const { return false; }
  // Of this update; undefined: gradients count as they are.
  const at::Tensor& gradient_factor() const noexcept { return factor_; }
  // Of this update; undefined: nothing is skipped.
  const at::Tensor& skip() const noexcept { return skip_; }
  // Whether lists and tensors are calculated with, and nothing of them is read.
  bool on_device(const at::Tensor& parameter) const { return as_on_device_ || !parameter.is_cpu(); }
  // Of this update, for a parameter of the CPU, where reading a number waits at most for gradients that have come from a device.
  bool skipped_on_host(const at::Tensor& parameter) const;
  // Of this update, on the device of a parameter; undefined: nothing is skipped, or it is one of the CPU.
  at::Tensor skip_beside(const at::Tensor& parameter) const;
  static void multiply_gradients(const std::vector<at::Tensor>& gradients, const at::Tensor& factor);
  // Updates all parameters of a group. Autograd is off.
  virtual void update(std::vector<Item>& items, double rate, double weight_decay) = 0;

  // Adds 1 to a counter of the host and returns the new count; was_skipped() takes it back.
  double advance(const at::Tensor& step);

  static at::Tensor zeros_like(const at::Tensor& parameter);
  static at::Tensor step_counter(const at::Tensor& parameter);  // float32 scalar 0 beside the parameter
  static at::Tensor host_counter(
      const at::Tensor& parameter);  // the same on the CPU: reading it waits for no device

 private:
  static std::vector<at::Tensor> gradients_of(const std::vector<Item>& items);
  // Whether this update reads numbers for a parameter of the CPU.
  bool reads_on_host() const;

  std::vector<std::string> names_;
  std::vector<std::vector<at::Tensor>> state_;  // [parameter through all groups][name]
  at::Tensor factor_, skip_;
  std::vector<at::Tensor> advanced_;  // counters, by the last step
  bool as_on_device_ = false;
};

}  // namespace hftrain::optim

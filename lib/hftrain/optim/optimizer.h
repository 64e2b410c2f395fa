// Optimizers over plain lists of tensors, whoever owns and shards them.
//
//   auto optimizer = optim::make_optimizer("adamw_torch_fused", {{decay, 0.01}, {no_decay, 0.0}}, settings);
//   optimizer->step(schedule->rate());
//   optimizer->zero_grad();
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/optim/pace.h"

namespace hftrain::optim {

// Parameters that share a weight decay. Groups are ordered [decay, no decay] as in the transformers Trainer,
// which is the order in which optimizer.pt numbers the parameters.
struct ParameterGroup {
  std::vector<at::Tensor> parameters;
  double weight_decay = 0;
};

struct OptimizerSettings {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // of the Adam-like ones and of Lion (betas)
  std::map<std::string, std::string> options;         // optim_args
  bool as_on_device = false;  // on the CPU, too, by lists and without reading: for tests
};

// What a visitor of state tensors does with them: looks at names, sizes and types (the values may be absent),
// reads the values, or changes them.
enum class Access { kLayout, kRead, kWrite };
// `index` counts parameters through all groups.
using StateVisitor = std::function<void(size_t index, const std::string& name, const at::Tensor& state)>;

// Keeps references to the parameters, reads their .grad() and changes the parameters in place, without
// autograd. A parameter without gradient is left as it is. One thread.
class Optimizer {
 public:
  Optimizer(std::string name, std::vector<ParameterGroup> groups);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update. Betas for an optimizer that has none are an Error (exit code 1). The gradients may be multiplied by the
  // pace's factor on the way: they are of no use afterwards.
  virtual void step(const Pace& pace) = 0;

  // Whether step() looks at Pace::skip, so that nobody has to read a norm that a device is still computing.
  virtual bool skips_by_tensor() const { return false; }
  // Told behind a step() that looked at Pace::skip, before the next one: it was skipped. What was counted on the host is taken back.
  virtual void was_skipped() {}

  // Names of the state tensors of every parameter, as torch spells them ("step", "exp_avg", …).
  virtual std::vector<std::string> state_names() const = 0;
  // State tensor `name` of parameter `index`, counted through all groups. "step" is a float32 scalar; the
  // others have the parameter's shape unless the optimizer says otherwise. They exist from construction on;
  // undefined means that this parameter has no such state. Only a copy when the optimizer keeps its state out
  // of memory.
  virtual at::Tensor state(size_t index, const std::string& name) const = 0;
  // Shows every defined state tensor, parameter by parameter; checkpoints save and load through it (copy_,
  // without autograd). State that is kept out of memory is read for the call and with kWrite put back after
  // it: hold no more of the tensors than must be in memory at once.
  virtual void visit_state(const StateVisitor& visitor, Access access);
  // Bytes of state that are in memory.
  virtual int64_t state_bytes() const;

  // Drops the gradients (to_none) or fills them with zeros, which keeps views into buckets alive.
  void zero_grad(bool to_none = true);

  const std::string& name() const noexcept { return name_; }
  const std::vector<ParameterGroup>& groups() const noexcept { return groups_; }
  // Through all groups.
  std::vector<at::Tensor> parameters() const;

 private:
  void each_state(const StateVisitor& visitor) const;

  std::string name_;
  std::vector<ParameterGroup> groups_;
};

// By its name in --optim. An unknown name, an unknown option or a bad value is an Error (exit code 2).
std::unique_ptr<Optimizer> make_optimizer(const std::string& name, std::vector<ParameterGroup> groups,
                                          const OptimizerSettings& settings);
std::vector<std::string> optimizer_names();

}  // namespace hftrain::optim

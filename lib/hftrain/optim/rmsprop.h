// RMSprop, as torch.optim.RMSprop.
#pragma once

#include "hftrain/optim/optimizer_options.h"
#include "hftrain/optim/stateful_optimizer.h"

namespace hftrain::optim {

// g ← g + λθ; v ← α·v + (1 − α)·g²; centered: v minus the square of the mean gradient; buf ← μ·buf +
// g/(sqrt(v) + ε); θ ← θ − η·buf.
class Rmsprop final : public StatefulOptimizer {
 public:
  Rmsprop(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
          OptimizerOptions& options);

 protected:
  void update(std::vector<Item>& items, double rate, double weight_decay) override;

 private:
  double momentum_, alpha_, epsilon_;
  bool centered_;
};

}  // namespace hftrain::optim

// RMSprop, as torch.optim.RMSprop.
#pragma once

#include "hftrain/optim/list_optimizer.h"
#include "hftrain/optim/optimizer_options.h"

namespace hftrain::optim {

// g ← g + λθ; v ← α·v + (1 − α)·g²; centered: v minus the square of the mean gradient; buf ← μ·buf +
// g/(sqrt(v) + ε); θ ← θ − η·buf.
class Rmsprop final : public ListOptimizer {
 public:
  Rmsprop(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
          OptimizerOptions& options);

 protected:
  void update_lists(const Lists& lists, const Gate& gate, double rate, double weight_decay) override;

 private:
  std::vector<at::Tensor> roots_of(const Lists& lists, const Gate& gate,
                                   const std::vector<at::Tensor>& gradients) const;

  double momentum_, alpha_, epsilon_;
  bool centered_;
};

}  // namespace hftrain::optim

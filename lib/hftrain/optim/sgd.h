// Stochastic gradient descent with momentum, as torch.optim.SGD.
#pragma once

#include "hftrain/optim/list_optimizer.h"
#include "hftrain/optim/optimizer_options.h"

namespace hftrain::optim {

// g ← g + λθ; with momentum μ: buf ← μ·buf + (1 − dampening)·g (first step: buf = g), nesterov g + μ·buf,
// else buf; θ ← θ − η·g. State only with momentum.
class Sgd final : public ListOptimizer {
 public:
  Sgd(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
      OptimizerOptions& options);

 protected:
  void update_lists(const Lists& lists, const Gate& gate, double rate, double weight_decay) override;

 private:
  double momentum_, dampening_;
  bool nesterov_;
};

}  // namespace hftrain::optim

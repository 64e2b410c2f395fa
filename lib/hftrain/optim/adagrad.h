// Adagrad, as torch.optim.Adagrad.
#pragma once

#include "hftrain/optim/optimizer_options.h"
#include "hftrain/optim/stateful_optimizer.h"

namespace hftrain::optim {

// g ← g + λθ; sum ← sum + g²; θ ← θ − η/(1 + (t − 1)·lr_decay)·g/(sqrt(sum) + ε).
class Adagrad final : public StatefulOptimizer {
 public:
  Adagrad(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
          OptimizerOptions& options);

 protected:
  void update(std::vector<Item>& items, double rate, double weight_decay) override;

 private:
  double rate_decay_, epsilon_;
};

}  // namespace hftrain::optim

// Adagrad, as torch.optim.Adagrad.
#pragma once

#include "hftrain/optim/list_optimizer.h"
#include "hftrain/optim/optimizer_options.h"

namespace hftrain::optim {

// g ← g + λθ; sum ← sum + g²; θ ← θ − η/(1 + (t − 1)·lr_decay)·g/(sqrt(sum) + ε).
class Adagrad final : public ListOptimizer {
 public:
  Adagrad(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
          OptimizerOptions& options);

 protected:
  void update_lists(const Lists& lists, const Gate& gate, double rate, double weight_decay) override;

 private:
  double rate_decay_, epsilon_;
};

}  // namespace hftrain::optim

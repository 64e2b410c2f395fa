// Lion with float32 state (arXiv 2302.06675).
#pragma once

#include "hftrain/optim/list_optimizer.h"
#include "hftrain/optim/optimizer_options.h"

namespace hftrain::optim {

// c = β1·m + (1 − β1)·g; θ ← θ(1 − ηλ) − η·sign(c); m ← β2·m + (1 − β2)·g.
class Lion final : public ListOptimizer {
 public:
  Lion(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
       OptimizerOptions& options);

 protected:
  void set_betas(const Betas& betas) override {
    beta1_ = betas.first;
    beta2_ = betas.second;
  }
  void update_lists(const Lists& lists, const Gate& gate, double rate, double weight_decay) override;

 private:
  double beta1_, beta2_;
};

}  // namespace hftrain::optim

// AdamW with decoupled weight decay, one pass over parameter, gradient and both moments, in which
// gradients are clipped.
#pragma once

#include <vector>

#include "hftrain/optim/optimizer_options.h"
#include "hftrain/optim/stateful_optimizer.h"

namespace hftrain::optim {

// θ ← θ(1 − ηλ); m ← m + (1 − β1)(g − m); v ← β2 v + (1 − β2) g²;
// θ ← θ − (η/(1 − β1^t))·m/(sqrt(v)/sqrt(1 − β2^t) + ε)
class AdamW final : public StatefulOptimizer {
 public:
  AdamW(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
        OptimizerOptions& options);
  bool skips_by_tensor() const override { return true; }

 protected:
  void set_betas(const Betas& betas) override {
    beta1_ = betas.first;
    beta2_ = betas.second;
  }
  bool applies_factor() const override { return true; }
  void update(std::vector<Item>& items, double rate, double weight_decay) override;

 private:
  static std::vector<at::Tensor> counters_of(const std::vector<Item*>& items);
  void sweep_all(const std::vector<Item*>& items, double rate, double weight_decay) const;
  void fused(const std::vector<Item*>& items, double rate, double weight_decay) const;
  void sweep(Item& item, double rate, double weight_decay, float factor) const;

  double beta1_, beta2_, epsilon_;
};

}  // namespace hftrain::optim

// AdamW with decoupled weight decay, one pass over parameter, gradient and both moments, in which
// gradients are clipped.
#pragma once

#include <vector>

#include "hftrain/optim/fused_adam.h"

namespace hftrain::optim {

// θ ← θ(1 − ηλ); m ← m + (1 − β1)(g − m); v ← β2 v + (1 − β2) g²;
// θ ← θ − (η/(1 − β1^t))·m/(sqrt(v)/sqrt(1 − β2^t) + ε)
class AdamW final : public FusedAdam {
 public:
  AdamW(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
        OptimizerOptions& options);

 protected:
  void update(std::vector<Item>& items, double rate, double weight_decay) override;

 private:
  void sweep_all(const std::vector<Item*>& items, double rate, double weight_decay) const;
  void sweep(Item& item, double rate, double weight_decay, float factor) const;
};

}  // namespace hftrain::optim

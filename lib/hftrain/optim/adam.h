// Adam with coupled weight decay, as torch.optim.Adam; DeepSpeed's Adam with adam_w_mode false.
#pragma once

#include "hftrain/optim/fused_adam.h"

namespace hftrain::optim {

// g ← g + λθ; m ← m + (1 − β1)(g − m); v ← β2 v + (1 − β2) g²;
// θ ← θ − (η/(1 − β1^t))·m/(sqrt(v)/sqrt(1 − β2^t) + ε)
class Adam final : public FusedAdam {
 public:
  Adam(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
       OptimizerOptions& options);

 protected:
  void update(std::vector<Item>& items, double rate, double weight_decay) override;

 private:
  void update_here(const Item& item, double rate, double weight_decay);
};

}  // namespace hftrain::optim

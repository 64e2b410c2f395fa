// AdamW with moments in chosen types and optional Kahan summation.
#pragma once

#include "hftrain/optim/optimizer_options.h"
#include "hftrain/optim/stateful_optimizer.h"

namespace hftrain::optim {

// AdamW's rule. With use_kahan_summation the rounding rest of each step is kept in "compensation" and added
// to the next one, which lets bfloat16 parameters learn from small steps.
class AnyprecisionAdamW final : public StatefulOptimizer {
 public:
  AnyprecisionAdamW(const std::string& name, std::vector<ParameterGroup> groups,
                    const OptimizerSettings& settings, OptimizerOptions& options);

 protected:
  void set_betas(const Betas& betas) override {
    beta1_ = betas.first;
    beta2_ = betas.second;
  }
  void update(std::vector<Item>& items, double rate, double weight_decay) override;

 private:
  double beta1_, beta2_, epsilon_;
  bool kahan_;
};

}  // namespace hftrain::optim

// AdamW with moments in chosen types and optional Kahan summation.
#pragma once

#include "hftrain/optim/list_optimizer.h"
#include "hftrain/optim/optimizer_options.h"

namespace hftrain::optim {

// AdamW's rule. With use_kahan_summation the rounding rest of each step is kept in "compensation" and added
// to the next one, which lets bfloat16 parameters learn from small steps.
class AnyprecisionAdamW final : public ListOptimizer {
 public:
  AnyprecisionAdamW(const std::string& name, std::vector<ParameterGroup> groups,
                    const OptimizerSettings& settings, OptimizerOptions& options);

 protected:
  void set_betas(const Betas& betas) override {
    beta1_ = betas.first;
    beta2_ = betas.second;
  }
  void update_lists(const Lists& lists, const Gate& gate, double rate, double weight_decay) override;

 private:
  static void add_compensated(const std::vector<at::Tensor>& parameters,
                              const std::vector<at::Tensor>& compensation, const Gate& gate);

  double beta1_, beta2_, epsilon_;
  bool kahan_;
};

}  // namespace hftrain::optim

// What Adam and AdamW share: both moments, and LibTorch's kernels, which clip, count and skip without the host.
#pragma once

#include <optional>
#include <vector>

#include "hftrain/optim/optimizer_options.h"
#include "hftrain/optim/stateful_optimizer.h"

namespace hftrain::optim {

class FusedAdam : public StatefulOptimizer {
 protected:
  enum class Decay { kCoupled, kDecoupled };

  FusedAdam(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
            Decay decay);

  void set_betas(const Betas& betas) override {
    beta1_ = betas.first;
    beta2_ = betas.second;
  }
  bool applies_factor() const override { return true; }
  // Items of any types.
  void fuse(const std::vector<Item*>& items, double rate, double weight_decay) const;

  double beta1_, beta2_, epsilon_;

 private:
  void fuse_alike(const std::vector<Item*>& items, double rate, double weight_decay) const;
  // What the kernel is to divide `gradients` by, of parameters like this one; a CPU's are multiplied here instead, and none is needed.
  std::optional<at::Tensor> divisor_of(const std::vector<at::Tensor>& gradients,
                                       const at::Tensor& parameter) const;

  Decay decay_;
};

}  // namespace hftrain::optim

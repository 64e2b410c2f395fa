// Adafactor with an external rate, as transformers (scale_parameter and relative_step off).
#pragma once

#include "hftrain/optim/optimizer_options.h"
#include "hftrain/optim/stateful_optimizer.h"

namespace hftrain::optim {

// β2t = 1 − t^(−0.8); u = g² + 1e-30. Two or more dimensions: means of u over the last and over the second
// last dimension are kept (exp_avg_sq_row, exp_avg_sq_col), û = g·rsqrt(R/mean(R))⊗rsqrt(C); else exp_avg_sq
// and û = g·rsqrt(V). û is divided by max(1, RMS(û)); θ ← θ(1 − λη) − η·û.
class Adafactor final : public StatefulOptimizer {
 public:
  Adafactor(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
            OptimizerOptions& options);

 protected:
  void update(std::vector<Item>& items, double rate, double weight_decay) override;

 private:
  void update_one(const Item& item, double rate, double weight_decay);
  static at::Tensor direction(const Item& item, double beta);
};

}  // namespace hftrain::optim

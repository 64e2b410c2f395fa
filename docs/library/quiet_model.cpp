// compute_loss and log: adds a small price on large logits to the model's loss (the z-loss of arXiv 2204.02311), and logs what it
// came to.
#include <ATen/ATen.h>

#include "hftrain/program/trainer.h"

namespace {

class QuietModel final : public hftrain::Trainer {
 public:
  using Trainer::Trainer;

  at::Tensor compute_loss(const LossInput& input) override {
    const at::Tensor logits = input.logits().to(at::kFloat);
    const at::Tensor price = 1e-4 * logits.logsumexp(-1).pow(2).sum() / input.num_items;
    last_price_ = price.item<double>();
    return input.model_loss() + price;
  }

  void log(Metrics& record) override { record.emplace_back("z_loss", last_price_); }

 private:
  double last_price_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return hftrain::main<QuietModel>(argc, argv);
}

// Does not compile: its compute_loss takes its input by value, so that it hides that of Trainer and nobody would call it.
#include <ATen/ATen.h>

#include "hftrain/program/trainer.h"

namespace {

class Hiding final : public hftrain::Trainer {
 public:
  using Trainer::Trainer;
  at::Tensor compute_loss(LossInput input) { return 2 * input.model_loss(); }
};

}  // namespace

int main(int argc, char** argv) {
  return hftrain::main<Hiding>(argc, argv);
}

// training_step: a language model that sees every tenth token as another one, and is to say what came next all the same.
#include <ATen/ATen.h>

#include "hftrain/program/trainer.h"

namespace {

class FewerWords final : public hftrain::Trainer {
 public:
  using Trainer::Trainer;

  at::Tensor training_step(const hftrain::Batch& inputs) override {
    hftrain::Batch changed = inputs;
    const at::Tensor& ids = inputs.at("input_ids");
    const at::Tensor hidden = at::rand(ids.sizes(), ids.options().dtype(at::kFloat)) < 0.1;
    changed["input_ids"] = ids.masked_fill(hidden, kHidden);
    return Trainer::training_step(changed);
  }

 private:
  static constexpr int64_t kHidden = 0;  // an id of the vocabulary
};

}  // namespace

int main(int argc, char** argv) {
  return hftrain::main<FewerWords>(argc, argv);
}

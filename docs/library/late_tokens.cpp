// compute_metrics and prediction_step: how much a language model knows of the second half of each block, when it is evaluated with
// every eighth token hidden.
#include <ATen/ATen.h>

#include <cstdint>

#include "hftrain/program/trainer.h"

namespace {

// What stands at a place says the label of the next one.
double share_known(const hftrain::EvalPrediction& all, int64_t from) {
  const at::Tensor& labels = all.labels.at("labels");
  const int64_t count = labels.size(1) - 1 - from;
  const at::Tensor said = all.predictions.narrow(1, from, count), right = labels.narrow(1, from + 1, count);
  const at::Tensor counts = right != -100;
  return ((said == right) * counts).sum().item<double>() / counts.sum().item<double>();
}

class LateTokens final : public hftrain::Trainer {
 public:
  using Trainer::Trainer;

  hftrain::Prediction prediction_step(const hftrain::Batch& inputs) override {
    hftrain::Batch changed = inputs;
    const at::Tensor& ids = inputs.at("input_ids");
    const at::Tensor hidden = at::arange(ids.size(1), ids.options()).remainder(8) == 7;
    changed["input_ids"] = ids.masked_fill(hidden, 0);
    return Trainer::prediction_step(changed);
  }

  Metrics compute_metrics(const hftrain::EvalPrediction& all) override {
    return {{"accuracy_again", share_known(all, 0)},
            {"accuracy_late", share_known(all, all.predictions.size(1) / 2)},
            {"blocks", static_cast<double>(all.predictions.size(0))}};
  }
};

}  // namespace

int main(int argc, char** argv) {
  return hftrain::main<LateTokens>(argc, argv);
}

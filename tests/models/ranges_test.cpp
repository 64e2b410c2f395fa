// Tokens and labels that a model has no row for are told by the host, before a device sees them.
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include "hftrain/base/error.h"
#include "hftrain/models/model.h"
#include "models/golden_model.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::models {
namespace {

std::shared_ptr<const architectures::Architecture> classifier(const std::string& problem) {
  return architectures::Architecture::from_config(
      Json::parse(R"({"model_type": "gpt2", "n_layer": 1, "n_head": 1, "n_embd": 8, "n_positions": 8,
                      "vocab_size": 10, "num_labels": 3, "pad_token_id": 0, "problem_type": ")" +
                  problem + "\"}"),
      "config.json", architectures::Head::kSequenceClassification);
}

// Labels on a device, of which the host has kept its own.
Batch on_a_device(const at::Tensor& labels) {
  Batch here;
  here.input_ids = at::ones({labels.size(0), 4}, at::kLong);
  here.labels = labels;
  Batch there;
  there.input_ids = here.input_ids.to(at::kMeta);
  there.labels = labels.to(at::kMeta);
  there.host = std::make_shared<const Batch>(here);
  return there;
}

}  // namespace

TEST_CASE("a token beyond the vocabulary is told by its number, before the embeddings see it") {
  for (const std::string& name : testing::golden_names("heads")) {
    INFO(name);
    const testing::GoldenFile golden("heads/" + name);
    const auto model = testing::golden_model(golden, {}, testing::golden_head(golden));
    Batch batch = testing::golden_batch(golden);
    if (!batch.input_ids.defined()) continue;  // images
    nn::UnitRunner runner;
    const int64_t beyond = model->architecture().vocab_size();
    batch.input_ids = batch.input_ids.clone();
    batch.input_ids[0][1] = beyond;
    CHECK_REFUSED(model->forward(batch, runner, logits_only()),
                  "token " + std::to_string(beyond) + " is out of range");
    batch.input_ids[0][1] = -1;
    CHECK_REFUSED(model->forward(batch, runner, logits_only()), "token -1 is out of range");
  }
}

TEST_CASE("a label that a device would stumble over is told by the host") {
  const LossRequest request{.num_items = at::scalar_tensor(1.0)};
  const auto classes = classifier("single_label_classification");
  CHECK_REFUSED(loss_objective(*classes, on_a_device(at::full({2}, 3, at::kLong)), request),
                "label 3 is out of range");
  CHECK(loss_objective(*classes, on_a_device(at::full({2}, 2, at::kLong)), request));
  // Numbers to be predicted, and truths, are no classes.
  CHECK(loss_objective(*classifier("regression"), on_a_device(at::full({2}, 30, at::kLong)), request));
  CHECK(loss_objective(*classifier("multi_label_classification"), on_a_device(at::zeros({2, 3})), request));
}

}  // namespace hftrain::models

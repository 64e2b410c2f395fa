// Logits, loss and gradients against transformers (fixtures of scripts/golden/models.py).
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <filesystem>

#include "hftrain/models/model.h"
#include "models/golden_file.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::models {
namespace {

using testing::GoldenFile;

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

std::unique_ptr<Model> golden_model(const GoldenFile& golden, const ModelOptions& options) {
  const auto architecture = architectures::Architecture::from_config(
      parse_json(golden.metadata("config"), "golden config"), "golden");
  auto model = build_model(architecture, options);
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < model->parameters().size(); ++i) {
    at::Tensor parameter = model->parameters()[i];
    parameter.copy_(golden.tensor(model->parameter_names()[i]));
  }
  return model;
}

void check_parity(const std::string& name, nn::Kernels kernels) {
  const GoldenFile golden("models/" + name);
  ModelOptions options;
  options.kernels = kernels;
  const auto model = golden_model(golden, options);
  nn::UnitRunner runner;
  Batch batch;
  batch.input_ids = golden.tensor("input_ids");
  CHECK(difference(model->forward(batch, runner, logits_only()).logits, golden.tensor("logits")) < 1e-5);
  batch.labels = golden.tensor("labels");
  const Output output = model->forward(batch, runner, loss_objective(model->architecture(), batch, {}));
  CHECK(difference(output.loss, golden.tensor("loss")) < 1e-5);
  output.loss.backward();
  for (size_t i = 0; i < model->parameters().size(); ++i) {
    const std::string& parameter = model->parameter_names()[i];
    INFO(parameter);
    REQUIRE(model->parameters()[i].grad().defined());
    CHECK(difference(model->parameters()[i].grad(), golden.tensor("grad/" + parameter)) < 1e-5);
  }
}

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::source_dir() + "/tests/golden/models")) {
    names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("Logits, loss and gradients equal those of transformers", "[parity]") {
  REQUIRE(golden_names().size() >= 13);
  for (const std::string& name : golden_names()) {
    DYNAMIC_SECTION(name << " with fused kernels") {
      check_parity(name, nn::Kernels::kFused);
    }
    DYNAMIC_SECTION(name << " with reference operators") {
      check_parity(name, nn::Kernels::kReference);
    }
  }
}

}  // namespace hftrain::models

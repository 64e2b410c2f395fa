// Adapters on every head of every family: what they add to each projection, and what is trained.
#include <ATen/Context.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>

#include <cmath>
#include <map>
#include <set>

#include "hftrain/base/error.h"
#include "hftrain/nn/activation_checkpoint.h"
#include "models/golden_model.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::models {
namespace {

using architectures::AdapterHalf;
using architectures::AdapterSpec;
using architectures::Architecture;
using architectures::ParameterSpec;
using testing::golden_head;
using testing::GoldenFile;

AdapterSpec everywhere() {
  AdapterSpec spec;
  spec.rank = 3;
  spec.alpha = 6;
  spec.dropout = 0;
  spec.targets = {"all-linear"};
  return spec;
}

void seed_random(uint64_t seed) {
  at::Generator random = at::globalContext().defaultGenerator(at::kCPU);
  random.set_current_seed(seed);
}

bool close(double found, double expected, double relative) {
  return std::abs(found - expected) <= relative * std::abs(expected);
}

// The golden model without dropout, its own parameters frozen, with adapters of random numbers.
std::unique_ptr<Model> adapted_model(const GoldenFile& golden, const AdapterSpec& spec,
                                     ModelOptions options = {}) {
  const Json config = testing::with_dropout(parse_json(golden.metadata("config"), "golden config"),
                                            golden_head(golden), testing::Dropout::kNone);
  const auto architecture = Architecture::from_config(config, "golden", golden_head(golden), spec);
  const auto& specs = architecture->parameters().parameters;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].adapts) options.frozen.push_back(static_cast<int>(i));
  }
  auto model = build_model(architecture, options);
  const at::NoGradGuard no_grad;
  seed_random(7);
  for (size_t i = 0; i < specs.size(); ++i) {
    at::Tensor parameter = model->parameters()[i];
    parameter.copy_(specs[i].adapts ? at::randn(specs[i].shape) * 0.3 : golden.tensor(specs[i].name));
  }
  return model;
}

// The golden model with the product of each adapter added to its matrix.
std::unique_ptr<Model> merged_model(const GoldenFile& golden, const Model& adapted) {
  auto model = testing::golden_model(golden, {}, golden_head(golden), testing::Dropout::kNone);
  const auto& specs = adapted.architecture().parameters().parameters;
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].adapts || specs[i].adapts->half != AdapterHalf::kDown) continue;
    const auto position = static_cast<size_t>(specs[i].adapts->parameter);
    const at::Tensor added = at::matmul(adapted.parameters()[i + 1], adapted.parameters()[i]) *
                             adapted.architecture().adapter()->scale();
    at::Tensor matrix = model->parameters()[position];
    matrix.add_(specs[position].input_first ? added.t() : added);
  }
  return model;
}

double loss_of(Model& model, const Batch& batch, nn::UnitRunner& runner) {
  const Output output = model.forward(batch, runner, loss_objective(model.architecture(), batch, {}));
  if (output.loss.requires_grad()) output.loss.backward();
  return output.loss.item<double>();
}

// Of what is trained, by name.
std::map<std::string, at::Tensor> gradients_of(const Model& model) {
  std::map<std::string, at::Tensor> gradients;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const at::Tensor& gradient = model.parameters()[i].grad();
    if (gradient.defined()) gradients[model.parameter_names()[i]] = gradient;
  }
  return gradients;
}

}  // namespace

TEST_CASE("A model with adapters computes what one with merged matrices does, and trains them alone",
          "[models]") {
  std::set<testing::FamilyHead> adapted_heads;
  for (const std::string& name : testing::golden_names("heads")) {
    INFO(name);
    const GoldenFile golden("heads/" + name);
    adapted_heads.insert(testing::family_head(golden));
    const Batch batch = testing::golden_batch(golden);
    nn::UnitRunner plain;
    const auto adapted = adapted_model(golden, everywhere());
    const auto merged = merged_model(golden, *adapted);
    adapted->train(false);  // some heads drop out what no key of the config names
    merged->train(false);
    const double expected = loss_of(*merged, batch, plain);
    CHECK(close(loss_of(*adapted, batch, plain), expected, 1e-5));
    const auto bare = testing::golden_model(golden, {}, golden_head(golden), testing::Dropout::kNone);
    bare->train(false);
    CHECK_FALSE(close(loss_of(*bare, batch, plain), expected, 1e-4));
    const auto& specs = adapted->architecture().parameters().parameters;
    for (size_t i = 0; i < specs.size(); ++i) {
      INFO(specs[i].name);
      const at::Tensor& gradient = adapted->parameters()[i].grad();
      if (!specs[i].adapts) {
        CHECK_FALSE(gradient.defined());
        continue;
      }
      REQUIRE(gradient.defined());
      if (specs[i].adapts->half == AdapterHalf::kDown) continue;
      // Of the sum W + s·B·A: the gradient of B is s·dW·Aᵀ.
      const auto position = static_cast<size_t>(specs[i].adapts->parameter);
      at::Tensor of_matrix = merged->parameters()[position].grad();
      if (specs[position].input_first) of_matrix = of_matrix.t();
      const at::Tensor wanted = at::matmul(of_matrix, adapted->parameters()[i - 1].t()) *
                                adapted->architecture().adapter()->scale();
      CHECK((gradient - wanted).abs().max().item<double>() <= 3e-5 * (1 + wanted.abs().max().item<double>()));
      CHECK(wanted.abs().max().item<double>() > 0);
    }
  }
  testing::check_every_head(adapted_heads);
}

TEST_CASE(
    "All that is linear has an adapter: poolers too, and neither what gives the outputs nor what is saved "
    "whole",
    "[models]") {
  // Modules with an adapter in the unit of the head.
  const auto adapted = [](const std::string& name, const std::vector<std::string>& saved) {
    const GoldenFile golden("heads/" + name);
    AdapterSpec spec = everywhere();
    spec.saved_modules = saved;
    const auto architecture = Architecture::from_config(parse_json(golden.metadata("config"), "golden"),
                                                        "golden", golden_head(golden), spec);
    const auto& table = architecture->parameters();
    std::vector<std::string> modules;
    for (const ParameterSpec& each : table.parameters) {
      if (each.adapts && each.adapts->half == AdapterHalf::kDown &&
          !table.units[static_cast<size_t>(each.unit)].repeated)
        modules.push_back(each.name.substr(0, each.name.rfind(".lora_A")));
    }
    return modules;
  };
  using Names = std::vector<std::string>;
  CHECK(adapted("bert_classes", {"classifier"}) == Names{"bert.pooler.dense"});
  CHECK(adapted("bert_masked", {}) == Names{"cls.predictions.transform.dense"});
  CHECK(adapted("bert_masked_untied", {}) == Names{"cls.predictions.transform.dense"});
  CHECK(adapted("distilbert_masked", {}) == Names{"vocab_transform"});
  CHECK(adapted("roberta_classes", {"classifier", "score"}).empty());
  CHECK(adapted("roberta_classes", {}) == Names{"classifier.dense"});
  for (const char* name : {"gpt2_causal", "llama_causal", "qwen2_causal", "qwen3_causal", "mistral_causal",
                           "gemma_causal", "bert_tokens", "t5_texts", "vit_classes"})
    CHECK(adapted(name, {}).empty());
}

TEST_CASE(
    "Of the names that peft gives the head of a classification one is enough, and no other is passed over",
    "[models]") {
  const GoldenFile golden("heads/bert_classes");
  const auto architecture = Architecture::from_config(parse_json(golden.metadata("config"), "golden"),
                                                      "golden", golden_head(golden));
  AdapterSpec spec = everywhere();
  spec.saved_modules = {"classifier", "score"};
  CHECK(architectures::saved_whole(architecture->parameters(), spec, "bert").size() == 2);
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"score"}, {"classifier", "score", "no_such"}}) {
    spec.saved_modules = names;
    CHECK_REFUSED(architectures::saved_whole(architecture->parameters(), spec, "bert"),
                  "no module of the model with parameters of its own is called");
  }
  const GoldenFile answers("heads/bert_answers");
  const auto of_answers = Architecture::from_config(parse_json(answers.metadata("config"), "golden"),
                                                    "golden", golden_head(answers));
  spec.saved_modules = {"classifier", "score"};
  CHECK_REFUSED(architectures::saved_whole(of_answers->parameters(), spec, "bert"),
                "no module of the model with parameters of its own is called");
}

TEST_CASE("The second name of a tied matrix is no module to save, and it is told what it is", "[models]") {
  const auto architecture =
      Architecture::from_config(parse_json(R"({"model_type": "gpt2", "vocab_size": 64, "n_embd": 8,
                                               "n_layer": 1, "n_head": 2, "n_positions": 16})",
                                           "test"),
                                "test", {});
  AdapterSpec spec = everywhere();
  spec.saved_modules = {"lm_head"};
  CHECK_REFUSED(architectures::saved_whole(architecture->parameters(), spec, "gpt2"),
                "'lm_head' has no parameters of its own in this model");
  spec.tied_as_one = false;
  spec.origin = "adapter_config.json";
  CHECK_REFUSED(architectures::saved_whole(architecture->parameters(), spec, "gpt2"),
                "the adapter has two matrices where the model has one");
}

TEST_CASE("Adapters are trained the same when blocks are recomputed, dropout included", "[models]") {
  std::set<testing::FamilyHead> recomputed;
  for (const std::string& name : testing::golden_names("heads")) {
    INFO(name);
    const GoldenFile golden("heads/" + name);
    recomputed.insert(testing::family_head(golden));
    const Batch batch = testing::golden_batch(golden);
    AdapterSpec spec = everywhere();
    spec.dropout = 0.4;
    std::vector<std::map<std::string, at::Tensor>> gradients;
    std::vector<double> losses;
    for (const bool recomputes : {false, true}) {
      const auto model = adapted_model(golden, spec);
      nn::UnitRunner plain;
      nn::CheckpointingRunner checkpointing(plain, 1);
      seed_random(11);
      losses.push_back(loss_of(*model, batch, recomputes ? checkpointing : plain));
      gradients.push_back(gradients_of(*model));
      model->train(false);
      const at::NoGradGuard no_grad;
      const double quiet = loss_of(*model, batch, plain);
      CHECK(quiet != losses.back());
      CHECK(quiet == loss_of(*model, batch, plain));
    }
    CHECK(losses[0] == losses[1]);
    CHECK_FALSE(gradients[0].empty());
    REQUIRE(gradients[0].size() == gradients[1].size());
    for (const auto& [parameter, gradient] : gradients[0]) {
      INFO(parameter);
      // Not the same bits: what each product of a decoder's blocks asks of the encoder adds up block by block.
      const at::Tensor apart = gradients[1].at(parameter) - gradient;
      CHECK(apart.abs().max().item<double>() <= 2e-6 * gradient.abs().max().item<double>());
    }
  }
  testing::check_every_head(recomputed);
}

}  // namespace hftrain::models

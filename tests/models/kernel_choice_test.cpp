// Every operator that may be chosen alone: its own form stands in the graph that backward walks, or does not.
#include <torch/csrc/autograd/function.h>

#include <memory>
#include <set>

#include "hftrain/nn/cpu/block_attention.h"
#include "models/golden_model.h"
#include "support/catch.h"

namespace hftrain::models {
namespace {

constexpr int64_t kTimes = 4;  // attention of a few places is LibTorch's in any case

// Texts of so many times the places, or pictures of twice the sides.
Batch longer(Batch batch) {
  for (const BatchColumn& column : kBatchColumns) {
    at::Tensor& each = batch.*column.member;
    if (each.defined() && each.dim() == 2 && each.scalar_type() == at::kLong) each = each.repeat({1, kTimes});
    if (each.defined() && each.dim() == 4) each = each.repeat({1, 1, 2, 2});
  }
  return batch;
}

// The golden file's model for longer batches, of zeros: the graph is the same.
std::unique_ptr<Model> longer_model(const testing::GoldenFile& golden, const ModelOptions& options,
                                    architectures::Head head) {
  Json config = parse_json(golden.metadata("config"), "golden config");
  for (const char* places : {"max_position_embeddings", "n_positions"})
    if (config.contains(places)) config[places] = 64;
  if (config.contains("image_size")) {
    Json& sides = config["image_size"];
    if (sides.is_number()) sides = {sides, sides};
    for (Json& side : sides) side = 2 * side.get<int64_t>();
  }
  config = testing::with_dropout(config, head, testing::Dropout::kNone);
  auto model = build_model(architectures::Architecture::from_config(config, "golden", head), options);
  const at::NoGradGuard no_grad;
  for (const at::Tensor& parameter : model->parameters()) parameter.zero_();
  return model;
}

// Names of our functions behind the loss of a model, without namespaces and what their node is called.
std::set<std::string> own_functions(const std::string& golden_name, const nn::KernelChoice& kernels) {
  const testing::GoldenFile golden(golden_name);
  const bool causal = golden_name.starts_with("models/");
  const auto head = causal ? architectures::Head::kCausalLm : testing::golden_head(golden);
  ModelOptions options;
  options.kernels = kernels;
  const auto model = longer_model(golden, options, head);
  nn::UnitRunner runner;
  const Batch batch = longer(testing::golden_batch(golden));
  const Output output = model->forward(batch, runner, loss_objective(model->architecture(), batch, {}));
  std::set<std::string> names;
  std::set<torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> waiting = {output.loss.grad_fn().get()};
  while (!waiting.empty()) {
    torch::autograd::Node* node = waiting.back();
    waiting.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    const std::string name = node->name();
    if (const size_t at = name.find("hftrain::"); at != std::string::npos)
      names.insert(name.substr(name.find_last_of(':', name.find('>', at)) + 1));
    for (const auto& edge : node->next_edges()) waiting.push_back(edge.function.get());
  }
  return names;
}

bool has(const std::set<std::string>& names, const std::string& part) {
  return std::ranges::any_of(names, [&](const std::string& name) { return name.starts_with(part); });
}

}  // namespace

TEST_CASE("each operator that may be chosen alone is fused or not as it was chosen") {
  struct Row {
    const char* function;
    const char* golden;
    nn::Kernels nn::KernelChoice::*member;
  };
  for (const auto& [function, golden, member] :
       {Row{"Rotate", "models/llama_untied", &nn::KernelChoice::rope},
        Row{"Swiglu", "models/llama_untied", &nn::KernelChoice::swiglu},
        Row{"GeluTanh", "models/gemma", &nn::KernelChoice::geglu},
        Row{"RmsNorm", "models/llama_untied", &nn::KernelChoice::rms_norm},
        Row{"HeadLoss", "models/llama_untied", &nn::KernelChoice::loss}}) {
    const std::set<std::string> all = own_functions(golden, nn::Kernels::kFused);
    INFO(function);
    INFO(Json(all).dump());
    REQUIRE(has(all, function));
    nn::KernelChoice without, alone(nn::Kernels::kReference);
    without.*member = nn::Kernels::kReference;
    alone.*member = nn::Kernels::kFused;
    std::set<std::string> others = all;
    std::erase_if(others, [&](const std::string& name) { return name.starts_with(function); });
    CHECK(own_functions(golden, without) == others);
    CHECK(own_functions(golden, alone).size() == 1);
    CHECK(has(own_functions(golden, alone), function));
  }
}

TEST_CASE("no operator of ours stands in the graph of any family whose operators are LibTorch's") {
  for (const std::string folder : {"models", "heads"}) {
    for (const std::string& name : testing::golden_names(folder)) {
      INFO(name);
      std::set<std::string> own = own_functions(folder + '/' + name, nn::Kernels::kReference);
      own.erase("Dropout>");  // draws what LibTorch draws, to the bit, and is no matter of choice
      CHECK(own == std::set<std::string>{});
      if (name == "t5_tokens") continue;  // an encoder alone, of which every layer adds a bias to its scores
      // Else the batch shows nothing.
      const std::set<std::string> fused = own_functions(folder + '/' + name, nn::Kernels::kFused);
      CHECK(has(fused, "AttentionByBlocks") == nn::cpu::prefers_block_attention(true, 64));
    }
  }
}

}  // namespace hftrain::models

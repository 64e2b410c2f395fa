// Every operator that may be chosen alone: its own form stands in the graph that backward walks, or does not.
#include <torch/csrc/autograd/function.h>

#include <set>

#include "models/golden_model.h"
#include "support/catch.h"

namespace hftrain::models {
namespace {

// Long enough for every kernel: attention of a few places is LibTorch's in any case.
Batch longer(Batch batch) {
  for (const BatchColumn& column : kBatchColumns) {
    at::Tensor& each = batch.*column.member;
    if (each.defined() && each.dim() == 2 && each.scalar_type() == at::kLong) each = each.repeat({1, 4});
  }
  return batch;
}

// Names of our functions behind the loss of a model, without namespaces and what their node is called.
std::set<std::string> own_functions(const std::string& golden_name, const nn::KernelChoice& kernels) {
  const testing::GoldenFile golden(golden_name);
  const bool causal = golden_name.starts_with("models/");
  const auto head = causal ? architectures::Head::kCausalLm : testing::golden_head(golden);
  ModelOptions options;
  options.kernels = kernels;
  const auto model = testing::golden_model(golden, options, head, testing::Dropout::kNone);
  nn::UnitRunner runner;
  const Batch given = testing::golden_batch(golden);
  const bool grows = model->architecture().max_positions() == 0 && !sees_images(head);
  const Batch batch = grows ? longer(given) : given;
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
    }
  }
}

}  // namespace hftrain::models

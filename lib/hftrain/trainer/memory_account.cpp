#include "hftrain/trainer/memory_account.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/text.h"
#include "hftrain/runtime/host_memory.h"

namespace hftrain::trainer {
namespace {

constexpr size_t kMostNamed = 5;

std::string bytes_text(const Json& account, const char* key) {
  return format_bytes(static_cast<uint64_t>(std::max<int64_t>(account.value(key, int64_t{0}), 0)));
}

}  // namespace

Json memory_account(const plan::RunPlan& plan, const runtime::WorkerContext& context,
                    parallel::Strategy& strategy) {
  std::vector<std::pair<int64_t, std::string>> tensors;
  strategy.visit_parameters(
      [&](const parallel::StatePart& part) {
        tensors.emplace_back(static_cast<int64_t>(part.tensor.nbytes()), part.parameter);
      },
      parallel::Access::kLayout);
  const int64_t vocabulary = plan.model.config.value("vocab_size", int64_t{0});
  const int64_t logits = plan.batch.per_device_train * plan.data.block_size * vocabulary * 4;
  if (logits > 0) tensors.emplace_back(logits, "logits of a micro-batch in float32");
  std::sort(tensors.rbegin(), tensors.rend());
  if (tensors.size() > kMostNamed) tensors.resize(kMostNamed);
  Json largest = Json::array();
  for (const auto& [bytes, name] : tensors) largest.push_back({{"name", name}, {"bytes", bytes}});

  const parallel::StateBytes held = strategy.state_bytes();
  const runtime::DeviceMemory device = context.device_runtime->memory(context.device);
  return {{"parameters", held.parameters},
          {"gradients", held.gradients},
          {"optimizer", held.optimizer},
          {"planned_activations", plan.memory_per_rank.activations},
          {"device_allocated", device.peak_allocated},
          {"device_total", device.total},
          {"host_resident", runtime::host_memory().resident},
          {"largest", std::move(largest)}};
}

std::string describe_memory_account(const Json& account) {
  std::string text = "this rank held " + bytes_text(account, "parameters") + " of parameters, " +
                     bytes_text(account, "gradients") + " of gradients and " +
                     bytes_text(account, "optimizer") + " of optimizer state; the plan expects " +
                     bytes_text(account, "planned_activations") + " of activations; largest tensors: ";
  std::vector<std::string> names;
  for (const Json& tensor : account.at("largest")) {
    names.push_back(tensor.at("name").get<std::string>() + " " + bytes_text(tensor, "bytes"));
  }
  return text + join(names, ", ");
}

}  // namespace hftrain::trainer

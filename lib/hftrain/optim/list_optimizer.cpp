#include "hftrain/optim/list_optimizer.h"

#include <ATen/ops/_foreach_add.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace hftrain::optim {
namespace {

bool all_are_float(const std::vector<at::Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const at::Tensor& each) { return each.scalar_type() == at::kFloat; });
}

}  // namespace

void ListOptimizer::update(std::vector<Item>& items, double rate, double weight_decay) {
  for (const Items& each : alike(items)) update_alike(each, rate, weight_decay);
}

std::vector<ListOptimizer::Items> ListOptimizer::alike(std::vector<Item>& items) const {
  struct Open {
    size_t list;
    int64_t bytes;
  };
  std::vector<Items> lists;
  std::map<std::tuple<c10::DeviceType, at::ScalarType, float>, Open> open;
  for (Item& item : items) {
    const at::Tensor& parameter = item.parameter;
    const float count = item.state == nullptr ? 0.0F : (*item.state)[0].item<float>();
    const auto bytes = static_cast<int64_t>(parameter.nbytes());
    const std::tuple kind(parameter.device().type(), parameter.scalar_type(), count);
    const auto found = open.find(kind);
    if (found == open.end() || !on_device(parameter) || found->second.bytes + bytes > kListBytes) {
      open[kind] = {lists.size(), bytes};
      lists.push_back({&item});
      continue;
    }
    found->second.bytes += bytes;
    lists[found->second.list].push_back(&item);
  }
  return lists;
}

ListOptimizer::Lists ListOptimizer::lists_of(const Items& items) {
  Lists lists;
  for (const Item* item : items) {
    lists.parameters.push_back(item->parameter);
    lists.gradients.push_back(item->gradient);
    if (item->state == nullptr) continue;
    lists.step = advance((*item->state)[0]);
    lists.states.resize(item->state->size() - 1);
    for (size_t i = 0; i < lists.states.size(); ++i) lists.states[i].push_back((*item->state)[i + 1]);
  }
  return lists;
}

void ListOptimizer::update_alike(const Items& items, double rate, double weight_decay) {
  const at::Tensor& first = items.front()->parameter;
  if (skipped_on_host(first)) return;
  const Lists lists = lists_of(items);
  const at::Tensor skips = skip_beside(first);
  if (!skips.defined()) return update_lists(lists, Gate(), rate, weight_decay);
  std::vector<at::Tensor> changed = lists.parameters;
  for (const auto& state : lists.states) changed.insert(changed.end(), state.begin(), state.end());
  // A factor that is a tensor is rounded to the type of the list, of which 0.999 in bfloat16 is 1.
  if (all_are_float(changed)) return update_lists(lists, Gate(skips), rate, weight_decay);
  const Snapshot before(std::move(changed));
  update_lists(lists, Gate(), rate, weight_decay);
  before.restore(skips);
}

std::vector<at::Tensor> ListOptimizer::with_decay(const Lists& lists, const Gate& gate, double weight_decay) {
  std::vector<at::Tensor> gradients =
      weight_decay == 0 ? lists.gradients : at::_foreach_add(lists.gradients, lists.parameters, weight_decay);
  gate.clear(gradients);
  return gradients;
}

}  // namespace hftrain::optim

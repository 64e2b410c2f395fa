#include "parallel/unit_net.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scalar_tensor.h>

#include <numeric>

namespace hftrain::testing {
namespace {

constexpr int64_t kLength = 9;

std::vector<at::Tensor> cast(at::TensorList tensors, at::ScalarType dtype) {
  std::vector<at::Tensor> result;
  for (const at::Tensor& tensor : tensors) result.push_back(tensor.to(dtype));
  return result;
}

std::vector<int> range(int first, int count) {
  std::vector<int> positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

}  // namespace

UnitNet::UnitNet(uint64_t seed) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  const auto weight = [&](int64_t rows, int64_t columns) {
    return at::randn({rows, columns}, generator, at::kFloat) * 0.3;
  };
  add("table", weight(kVocabulary, kWidth));
  add("frozen", weight(5, kWidth), false);
  units_.push_back({0, "embeddings", {0, 1}, false, false});
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string prefix = "block." + std::to_string(layer);
    const int first = static_cast<int>(parameters_.size());
    add(prefix + ".gain", at::scalar_tensor(0.9));
    add(prefix + ".up", weight(kInner, kWidth));
    add(prefix + ".bias", at::randn({kInner}, generator, at::kFloat) * 0.1);
    add(prefix + ".down", weight(kWidth, kInner));
    units_.push_back({layer + 1, prefix, range(first, 4), true, false});
  }
  add("norm", at::ones({kWidth}));
  units_.push_back({kLayers + 1, "head", {static_cast<int>(parameters_.size()) - 1, 0}, false, false});
}

void UnitNet::add(const std::string& name, const at::Tensor& values, bool trainable) {
  names_.push_back(name);
  parameters_.push_back(values.clone().requires_grad_(trainable));
}

parallel::ParameterList UnitNet::list() const {
  parallel::ParameterList list{{}, {0.01, 0.0}};
  for (size_t i = 0; i < names_.size(); ++i) {
    list.parameters.push_back({names_[i], parameters_[i], parameters_[i].dim() > 1 ? size_t{0} : size_t{1}});
  }
  return list;
}

std::vector<plan::UnitPlan> UnitNet::plan_units(bool reshard) const {
  std::vector<plan::UnitPlan> units;
  for (const nn::Unit& unit : units_) {
    units.push_back({unit.name, unit.parameters, reshard});
    if (unit.name == "head") units.back().parameters.pop_back();
  }
  return units;
}

std::vector<plan::UnitPlan> UnitNet::one_unit(bool reshard) const {
  return {{"model", range(0, static_cast<int>(parameters_.size())), reshard}};
}

int64_t UnitNet::numel() const {
  int64_t numel = 0;
  for (const at::Tensor& parameter : parameters_) numel += parameter.numel();
  return numel;
}

at::Tensor UnitNet::loss(const at::Tensor& ids, nn::UnitRunner& runner, at::ScalarType dtype) const {
  const at::Tensor inputs = ids.narrow(1, 0, kLength - 1), labels = ids.narrow(1, 1, kLength - 1);
  using Tensors = std::vector<at::Tensor>;
  const auto run = [&](const nn::Unit& unit, const Tensors& given, const nn::UnitFunction& function) {
    std::vector<at::Tensor> used;
    for (const int position : unit.parameters) used.push_back(parameters_[static_cast<size_t>(position)]);
    return runner.run(unit, used, given, [function, dtype](at::TensorList p, at::TensorList in) {
      return function(cast(p, dtype), in);
    });
  };
  at::Tensor x = run(units_.front(), {inputs}, [](at::TensorList p, at::TensorList in) {
    return Tensors{at::embedding(p[0], in[0]) + p[1].mean(0)};
  })[0];
  at::Tensor memory;
  for (size_t i = 1; i + 1 < units_.size(); ++i) {
    const bool dropped = i > 1 ? drops_later_ : drops_first_;
    const Tensors out = run(units_[i], {x, memory}, [dropped](at::TensorList p, at::TensorList in) {
      if (dropped) return Tensors{in[0].view_as(in[0]), {}};
      const at::Tensor seen = in[1].defined() ? in[0] + in[1] : in[0];
      const at::Tensor inner = at::relu(seen.matmul(p[1].t()) + p[2]).matmul(p[3].t());
      return Tensors{in[0] + p[0] * inner, inner * in[0]};
    });
    if (!encodes_ || i > 1) x = out[0];
    if (shares_memory_ && i == 1) memory = out[encodes_ ? 0 : 1];
  }
  return run(units_.back(), {x}, [labels](at::TensorList p, at::TensorList in) {
    const at::Tensor logits = (in[0] * p[0]).matmul(p[1].t()).to(at::kFloat);
    return Tensors{at::cross_entropy_loss(logits.flatten(0, 1), labels.flatten())};
  })[0];
}

at::Tensor token_batch(int64_t rows, uint64_t seed) {
  return at::randint(UnitNet::kVocabulary, {rows, kLength}, at::make_generator<at::CPUGeneratorImpl>(seed),
                     at::kLong);
}

}  // namespace hftrain::testing

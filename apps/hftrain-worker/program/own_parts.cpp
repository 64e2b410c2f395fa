#include "program/own_parts.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hftrain {
namespace {

class OwnOptimizer final : public optim::Optimizer {
 public:
  OwnOptimizer(std::unique_ptr<hftrain::Optimizer> own, std::vector<optim::ParameterGroup> groups)
      : optim::Optimizer("own", std::move(groups)), own_(std::move(own)) {}

  void step(const optim::Pace& pace) override {
    const at::NoGradGuard no_grad;
    if (pace.gradient_factor.defined()) {
      for (const at::Tensor& parameter : parameters()) {
        if (parameter.grad().defined()) parameter.mutable_grad().mul_(pace.gradient_factor);
      }
    }
    own_->step(pace.rate);
  }
  std::vector<std::string> state_names() const override { return own_->state_names(); }
  at::Tensor state(size_t index, const std::string& name) const override { return own_->state(index, name); }

 private:
  std::unique_ptr<hftrain::Optimizer> own_;
};

class ShownLoader final : public DataLoader {
 public:
  explicit ShownLoader(std::unique_ptr<trainer::OwnLoader> of_run) : of_run_(std::move(of_run)) {}
  void begin_epoch(int64_t epoch, int64_t skip) override { of_run_->begin_epoch(epoch, skip); }
  std::optional<Batch> next() override {
    const std::optional<models::Batch> batch = of_run_->next();
    return batch ? std::optional(columns_of(*batch)) : std::nullopt;
  }
  std::optional<int64_t> length() const override { return of_run_->length(); }

 private:
  std::unique_ptr<trainer::OwnLoader> of_run_;
};

class LoaderOfProgram final : public trainer::OwnLoader {
 public:
  LoaderOfProgram(trainer::PluginPart part, std::unique_ptr<DataLoader> own)
      : part_(std::move(part)), own_(std::move(own)) {}
  void begin_epoch(int64_t epoch, int64_t skip) override {
    part_.call("begin_epoch of a data loader", [&] { own_->begin_epoch(epoch, skip); });
  }
  std::optional<models::Batch> next() override {
    return part_.call("next of a data loader", [&]() -> std::optional<models::Batch> {
      const std::optional<Batch> batch = own_->next();
      if (!batch) return std::nullopt;
      return batch_of(*batch);
    });
  }
  std::optional<int64_t> length() const override { return own_->length(); }

 private:
  trainer::PluginPart part_;
  std::unique_ptr<DataLoader> own_;
};

}  // namespace

trainer::MakeOwnLoader own_loader(trainer::PluginPart part, std::function<std::unique_ptr<DataLoader>()> get,
                                  std::unique_ptr<DataLoader>& of_run) {
  return [part = std::move(part), get = std::move(get), &of_run](std::unique_ptr<trainer::OwnLoader> loader) {
    of_run = std::make_unique<ShownLoader>(std::move(loader));
    std::unique_ptr<DataLoader> own = get();
    of_run.reset();
    if (!own) throw std::runtime_error("it gives no data loader");
    return std::make_unique<LoaderOfProgram>(part, std::move(own));
  };
}

parallel::OptimizerMaker own_optimizer(MakeOptimizer create) {
  return [create = std::move(create)](std::vector<optim::ParameterGroup> groups) {
    std::vector<ParameterGroup> shown;
    for (const optim::ParameterGroup& group : groups)
      shown.push_back({.parameters = group.parameters, .weight_decay = group.weight_decay});
    std::unique_ptr<Optimizer> own = create(shown);
    if (!own) throw std::runtime_error("it made no optimizer");
    return std::make_unique<OwnOptimizer>(std::move(own), std::move(groups));
  };
}

Batch columns_of(const models::Batch& batch) {
  Batch columns;
  for (const models::BatchColumn& column : models::kBatchColumns) {
    const at::Tensor& tensor = batch.*column.member;
    if (tensor.defined()) columns.emplace(column.name, tensor);
  }
  return columns;
}

models::Batch batch_of(const Batch& columns) {
  models::Batch batch;
  for (const auto& [name, tensor] : columns) {
    const std::string& wanted = name;
    const auto* const column =
        std::find_if(models::kBatchColumns.begin(), models::kBatchColumns.end(),
                     [&](const models::BatchColumn& one) { return one.name == wanted; });
    if (column == models::kBatchColumns.end())
      throw std::runtime_error("no model takes a column '" + name + "'");
    batch.*column->member = tensor.contiguous();
  }
  return batch;
}

}  // namespace hftrain

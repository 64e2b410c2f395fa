#include "program/own_parts.h"

#include <ATen/core/grad_mode.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "program/columns.h"

namespace hftrain {
namespace {

class OwnOptimizer final : public optim::Optimizer {
 public:
  // std::runtime_error for state that checkpoints could not keep.
  OwnOptimizer(trainer::PluginPart part, std::unique_ptr<hftrain::Optimizer> own,
               std::vector<optim::ParameterGroup> groups)
      : optim::Optimizer("own", std::move(groups)),
        part_(std::move(part)),
        own_(std::move(own)),
        parameters_(parameters()),
        state_names_(own_->state_names()) {
    if (std::set<std::string>(state_names_.begin(), state_names_.end()).size() != state_names_.size())
      throw std::runtime_error("two states of its optimizer have one name");
    for (size_t index = 0; index < parameters_.size(); ++index) {
      for (const std::string& name : state_names_) check_state(index, name);
    }
  }

  void step(const optim::Pace& pace) override {
    const at::NoGradGuard no_grad;
    if (pace.gradient_factor.defined()) {
      for (const at::Tensor& parameter : parameters_) {
        if (parameter.grad().defined()) parameter.mutable_grad().mul_(pace.gradient_factor);
      }
    }
    part_.call("step of an optimizer", [&] {
      own_->step(pace.rate);
      if (!std::exchange(stepped_, true) && own_->state_names() != state_names_)
        throw std::runtime_error("its states have other names than before: they are there when it is made");
    });
  }
  std::vector<std::string> state_names() const override { return state_names_; }
  at::Tensor state(size_t index, const std::string& name) const override {
    return part_.call("state of an optimizer", [&] {
      at::Tensor state = own_->state(index, name);
      check_shape(state, index, name);
      return state;
    });
  }

 private:
  // What is made anew whenever it is asked for would be saved, and nothing of a checkpoint would get into it.
  void check_state(size_t index, const std::string& name) const {
    const at::Tensor first = own_->state(index, name), second = own_->state(index, name);
    check_shape(first, index, name);
    if (!second.defined() || first.const_data_ptr() != second.const_data_ptr())
      throw std::runtime_error(whose(index, name) + " is another tensor each time that it is asked for");
  }
  void check_shape(const at::Tensor& state, size_t index, const std::string& name) const {
    if (!state.defined())
      throw std::runtime_error(whose(index, name) +
                               " is not there: states are made when the optimizer is, and stay");
    if (state.numel() != 1 && state.sizes() != parameters_.at(index).sizes())
      throw std::runtime_error(whose(index, name) + " has neither the shape of its parameter nor one number");
  }
  static std::string whose(size_t index, const std::string& name) {
    return "the state '" + name + "' of parameter " + std::to_string(index);
  }

  trainer::PluginPart part_;
  std::unique_ptr<hftrain::Optimizer> own_;
  std::vector<at::Tensor> parameters_;
  std::vector<std::string> state_names_;
  bool stepped_ = false;
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
  LoaderOfProgram(trainer::PluginPart part, std::unique_ptr<DataLoader> own, LoadsFor what)
      : part_(std::move(part)), own_(std::move(own)), what_(what) {}
  void begin_epoch(int64_t epoch, int64_t skip) override {
    part_.call("begin_epoch of a data loader", [&] { own_->begin_epoch(epoch, skip); });
  }
  std::optional<models::Batch> next() override {
    return part_.call("next of a data loader", [&]() -> std::optional<models::Batch> {
      const std::optional<Batch> batch = own_->next();
      if (!batch) return std::nullopt;
      models::Batch columns = batch_of(*batch, what_.head);
      if (what_.training) require_labels(columns, what_.head);
      return columns;
    });
  }
  std::optional<int64_t> length() const override {
    return part_.call("length of a data loader", [&] { return own_->length(); });
  }

 private:
  trainer::PluginPart part_;
  std::unique_ptr<DataLoader> own_;
  LoadsFor what_;
};

}  // namespace

trainer::MakeOwnLoader own_loader(trainer::PluginPart part, std::function<std::unique_ptr<DataLoader>()> get,
                                  std::unique_ptr<DataLoader>& of_run, LoadsFor what) {
  return [part = std::move(part), get = std::move(get), &of_run,
          what](std::unique_ptr<trainer::OwnLoader> loader) {
    of_run = std::make_unique<ShownLoader>(std::move(loader));
    std::unique_ptr<DataLoader> own = get();
    of_run.reset();
    if (!own) throw std::runtime_error("it gives no data loader");
    return std::make_unique<LoaderOfProgram>(part, std::move(own), what);
  };
}

parallel::OptimizerMaker own_optimizer(trainer::PluginPart part, MakeOptimizer create) {
  return [part = std::move(part), create = std::move(create)](
             std::vector<optim::ParameterGroup> groups) -> std::unique_ptr<optim::Optimizer> {
    std::vector<ParameterGroup> shown;
    for (const optim::ParameterGroup& group : groups)
      shown.push_back({.parameters = group.parameters, .weight_decay = group.weight_decay});
    std::unique_ptr<Optimizer> own = create(shown);
    if (!own) return nullptr;
    return std::make_unique<OwnOptimizer>(part, std::move(own), std::move(groups));
  };
}

}  // namespace hftrain

#include "hftrain/trainer/overflow_watch.h"

#include <fmt/format.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/isnan.h>

#include "hftrain/base/error.h"

namespace hftrain::trainer {
namespace {

constexpr size_t kFrames = 21;                         // as transformers
constexpr const char* kMargin = "                  ";  // in front of a module's name
constexpr const char* kHeader = "abs min  abs max  metadata\n";

std::string module_of(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind('.'));
}

// A line of a frame, and what is wrong with the tensor.
void describe(const at::Tensor& tensor, const std::string& what, std::string& text, std::string& fault) {
  if (!tensor.defined() || tensor.numel() == 0) return;
  const at::NoGradGuard no_grad;
  const at::Tensor sizes = tensor.detach().abs().to(at::kDouble);
  text += fmt::format("{:8.2e} {:8.2e} {}\n", sizes.min().item<double>(), sizes.max().item<double>(), what);
  if (!fault.empty() || !tensor.is_floating_point()) return;
  if (at::isnan(sizes).any().item<bool>()) fault = what + " has NaN";
  if (fault.empty() && at::isinf(sizes).any().item<bool>()) fault = what + " has inf";
}

}  // namespace

OverflowWatch::OverflowWatch(const models::Model& model, nn::UnitRunner& next) : model_(model), next_(next) {}

std::vector<at::Tensor> OverflowWatch::run(const nn::Unit& unit, at::TensorList parameters,
                                           at::TensorList inputs, const nn::UnitFunction& function) {
  const nn::UnitFunction watched = [this, &unit, function](at::TensorList handed, at::TensorList given) {
    unit_ = &unit;
    handed_ = handed.vec();
    named_.assign(handed_.size(), false);
    const nn::ObservedModules observed(this);
    return function(handed, given);
  };
  std::vector<at::Tensor> outputs = next_.run(unit, parameters, inputs, watched);
  Frame frame{.name = name_of(unit)};
  for (size_t i = 0; i < inputs.size(); ++i)
    describe(inputs[i], "input[" + std::to_string(i) + ']', frame.text, frame.fault);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string place = outputs.size() == 1 ? "" : '[' + std::to_string(i) + ']';
    describe(outputs[i], "output" + place, frame.text, frame.fault);
  }
  frame.text = kMargin + frame.name + " (unit)\n" + frame.text;
  keep(std::move(frame));
  return outputs;
}

void OverflowWatch::computed(const char* kind, at::TensorList parameters, at::TensorList inputs,
                             const at::Tensor& output) {
  Frame frame{.name = name_of(parameters.front())};
  for (size_t i = 0; i < parameters.size(); ++i)
    describe(parameters[i], i == 0 ? "weight" : "weight[" + std::to_string(i) + ']', frame.text, frame.fault);
  for (size_t i = 0; i < inputs.size(); ++i)
    describe(inputs[i], "input[" + std::to_string(i) + ']', frame.text, frame.fault);
  describe(output, "output", frame.text, frame.fault);
  frame.text = kMargin + frame.name + ' ' + kind + '\n' + frame.text;
  keep(std::move(frame));
}

// By the memory that it is, or, where a unit computes with copies of a narrower type, by its shape.
std::string OverflowWatch::name_of(const at::Tensor& parameter) {
  const auto& table = model_.architecture().parameters().parameters;
  const auto name = [&](size_t i) {
    named_[i] = true;
    return module_of(table[static_cast<size_t>(unit_->parameters[i])].name);
  };
  for (size_t i = 0; i < handed_.size(); ++i) {
    if (handed_[i].const_data_ptr() == parameter.const_data_ptr()) return name(i);
  }
  for (size_t i = 0; i < handed_.size(); ++i) {
    if (!named_[i] && handed_[i].sizes() == parameter.sizes()) return name(i);
  }
  return unit_->name;
}

// What the names of its parameters begin with.
std::string OverflowWatch::name_of(const nn::Unit& unit) const {
  const auto& table = model_.architecture().parameters().parameters;
  std::string common;
  for (size_t i = 0; i < unit.parameters.size(); ++i) {
    const std::string module = module_of(table[static_cast<size_t>(unit.parameters[i])].name) + '.';
    if (i == 0) common = module;
    while (!module.starts_with(common)) {
      common.pop_back();
      common.resize(common.rfind('.') + 1);
    }
  }
  return common.size() < 2 ? unit.name : common.substr(0, common.size() - 1);
}

void OverflowWatch::keep(Frame frame) {
  frames_.push_back(std::move(frame.text));
  if (frames_.size() > kFrames) frames_.pop_front();
  if (frame.fault.empty()) return;
  std::string report = "the last " + std::to_string(frames_.size()) + " modules, this one at the end:\n";
  report += kHeader;
  for (const std::string& each : frames_) report += each;
  report.pop_back();
  throw Error(ExitCode::kDiverged, "inf or NaN in " + frame.name + ": its " + frame.fault)
      .where("update " + std::to_string(update_) + " (--debug underflow_overflow)")
      .why(std::move(report))
      .hint(
          "look at where the numbers before it begin to grow; --bf16 reaches further than --fp16, and a "
          "lower "
          "--learning_rate or --max_grad_norm keeps weights smaller");
}

}  // namespace hftrain::trainer

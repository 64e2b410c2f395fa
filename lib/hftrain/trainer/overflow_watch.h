// --debug underflow_overflow: ends the run at the first module whose weights, inputs or outputs hold numbers that are
// not finite. As DebugUnderflowOverflow of transformers, in modules with parameters and whole units (embeddings, a
// block, the head with its loss).
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "hftrain/models/model.h"
#include "hftrain/nn/module_observer.h"
#include "hftrain/nn/unit_runner.h"

namespace hftrain::trainer {

// Wraps the runner of a model's units. One thread: the one that trains and evaluates.
class OverflowWatch final : public nn::UnitRunner, nn::ModuleObserver {
 public:
  // References must outlive the object.
  OverflowWatch(const models::Model& model, nn::UnitRunner& next);

  // For messages: the update that is under way, counted from 1.
  void set_update(int64_t update) { update_ = update; }

  // Throws an Error (exit code 8) that names the module and has the frames before it.
  std::vector<at::Tensor> run(const nn::Unit& unit, at::TensorList parameters, at::TensorList inputs,
                              const nn::UnitFunction& function) override;

 private:
  struct Frame {
    std::string name, text;
    std::string fault;  // "output has inf"; empty: all is finite
  };

  void computed(const char* kind, at::TensorList parameters, at::TensorList inputs,
                const at::Tensor& output) override;
  std::string name_of(const at::Tensor& parameter);
  std::string name_of(const nn::Unit& unit) const;
  void keep(Frame frame);

  const models::Model& model_;
  nn::UnitRunner& next_;
  const nn::Unit* unit_ = nullptr;  // that is computed
  std::vector<at::Tensor> handed_;  // its parameters
  std::vector<bool> named_;         // of these, those that a module has had
  std::deque<std::string> frames_;
  int64_t update_ = 0;
};

}  // namespace hftrain::trainer

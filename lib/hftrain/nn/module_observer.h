// Somebody who looks at what goes into the operators with parameters and what comes out of them.
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::nn {

class ModuleObserver {
 public:
  virtual ~ModuleObserver() = default;
  // An operator was computed, in a forward pass or when one is recomputed. `kind`: the class of the module that has
  // such parameters ("Linear", "LayerNorm", …). The first of `parameters` is its weight; undefined ones are none.
  virtual void computed(const char* kind, at::TensorList parameters, at::TensorList inputs,
                        const at::Tensor& output) = 0;
};

// Of this thread; null: nobody looks.
ModuleObserver* module_observer();

// Looks from its construction to its end, on the thread that made it.
class ObservedModules {
 public:
  explicit ObservedModules(ModuleObserver* observer);
  ~ObservedModules();
  ObservedModules(const ObservedModules&) = delete;
  ObservedModules& operator=(const ObservedModules&) = delete;

 private:
  ModuleObserver* before_;
};

// `output`, after the observer has seen it.
inline at::Tensor observed(const char* kind, at::TensorList parameters, at::TensorList inputs,
                           at::Tensor output) {
  if (ModuleObserver* observer = module_observer(); observer != nullptr)
    observer->computed(kind, parameters, inputs, output);
  return output;
}

}  // namespace hftrain::nn

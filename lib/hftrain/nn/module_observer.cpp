#include "hftrain/nn/module_observer.h"

#include <utility>

namespace hftrain::nn {
namespace {

thread_local ModuleObserver* present_observer = nullptr;

}  // namespace

ModuleObserver* module_observer() {
  return present_observer;
}

ObservedModules::ObservedModules(ModuleObserver* observer)
    : before_(std::exchange(present_observer, observer)) {}

ObservedModules::~ObservedModules() {
  present_observer = before_;
}

}  // namespace hftrain::nn

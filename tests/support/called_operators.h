// Which of LibTorch's operators a thread calls, and how often: what a pass computes without a look at the clock.
#pragma once

#include <ATen/record_function.h>

#include <map>
#include <memory>
#include <string>

namespace hftrain::testing {

// Counts while it lives, one at a time in a thread; the backward pass of a CPU or of Meta runs in the thread that asks for it.
class CalledOperators {
 public:
  CalledOperators()
      : handle_(at::addThreadLocalCallback(
            at::RecordFunctionCallback(see).needsInputs(false).scopes({at::RecordScope::FUNCTION}))) {
    counts().clear();
  }
  ~CalledOperators() { at::removeCallback(handle_); }
  CalledOperators(const CalledOperators&) = delete;
  CalledOperators& operator=(const CalledOperators&) = delete;

  // `name` with its namespace: aten::stack.
  static int count(const std::string& name) {
    const auto found = counts().find(name);
    return found == counts().end() ? 0 : found->second;
  }

 private:
  static std::map<std::string, int>& counts() {
    thread_local std::map<std::string, int> all;
    return all;
  }
  static std::unique_ptr<at::ObserverContext> see(const at::RecordFunction& called) {
    ++counts()[called.name()];
    return nullptr;
  }

  at::CallbackHandle handle_;
};

}  // namespace hftrain::testing

// The GPU of the tests that need one, and the plug-in, which is loaded for ever: for a program of its own.
#pragma once

#include <string>

#include "hftrain/base/error.h"
#include "hftrain/runtime/cuda_plugin.h"
#include "support/paths.h"

namespace hftrain::testing {

struct Gpu {
  const runtime::CudaPlugin* plugin = nullptr;  // null: nothing can be tried
  std::string missing;                          // why
};

inline const Gpu& gpu() {
  static const Gpu found = [] {
    try {
      return Gpu{&runtime::load_cuda_plugin(binary_dir() + "/lib/libhftrain_cuda.so"), ""};
    } catch (const Error& error) {
      return Gpu{nullptr, "no GPU: " + error.diagnostics().front().why};
    }
  }();
  return found;
}

}  // namespace hftrain::testing

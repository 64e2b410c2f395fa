#include "hftrain/runtime/numerics.h"

#include <ATen/Context.h>
#include <stdlib.h>

#include "hftrain/base/deterministic_variables.h"

namespace hftrain::runtime {
namespace {

void set_unless_given(const char* name, const char* value) {
  ::setenv(name, value, /*overwrite=*/0);
}

}  // namespace

void set_library_environment(const Numerics& numerics) {
  set_unless_given("CUDA_MODULE_LOADING", "LAZY");
  // Freed memory serves tensors of any size: batches of many lengths do not leave it in pieces.
  if (::getenv("PYTORCH_CUDA_ALLOC_CONF") == nullptr)
    set_unless_given("PYTORCH_ALLOC_CONF", "expandable_segments:True");
  // Comm's watch aborts a collective that fails, names it and keeps the rank from going on with garbage. LibTorch's own would abort
  // it, too, and one that it aborted first would count as over; nobody catches what it would throw of a device that failed, and the
  // rank would be gone before it has said why. No flight recorder files are written beside the run.
  set_unless_given("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0");
  set_unless_given("TORCH_NCCL_RETHROW_CUDA_ERRORS", "0");
  set_unless_given("TORCH_NCCL_ENABLE_MONITORING", "1");
  set_unless_given("TORCH_NCCL_DUMP_ON_TIMEOUT", "0");
  // Else two GPUs may begin what two groups do in different orders, and each wait for the other with no room for the one that it
  // waits for. All ranks issue operations in one order.
  if (numerics.several_groups) set_unless_given("NCCL_LAUNCH_ORDER_IMPLICIT", "1");
  if (!numerics.full_determinism) return;
  // By the launcher as well; not of a worker that something else has started.
  for (const auto& [name, value] : kDeterministicVariables) set_unless_given(name, value);
}

void apply_numerics(const Numerics& numerics) {
  auto& context = at::globalContext();
  context.setSDPUseCuDNN(numerics.cudnn_attention);
  if (numerics.full_determinism) {
    context.setDeterministicAlgorithms(true, /*warn_only=*/false);
    context.setDeterministicFillUninitializedMemory(
        false);  // finds code that reads it, for a pass over every new tensor
    context.setDeterministicCuDNN(true);
    context.setBenchmarkCuDNN(false);
  }
  if (numerics.tf32) {
    context.setAllowTF32CuBLAS(*numerics.tf32);
    context.setAllowTF32CuDNN(*numerics.tf32);
  }
}

}  // namespace hftrain::runtime

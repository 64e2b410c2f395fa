#include "hftrain/runtime/worker_context.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/util/Logging.h>
#include <caffe2/core/common.h>
#include <stdlib.h>
#include <torch/version.h>

#include "hftrain/base/error.h"
#include "hftrain/runtime/first_memory.h"
#include "hftrain/runtime/tensor_memory.h"
#include "hftrain/runtime/translate.h"

namespace hftrain::runtime {
namespace {

void check_torch_version() {
  const auto& options = caffe2::GetBuildOptions();
  const auto loaded = options.find("TORCH_VERSION");
  const std::string version = loaded == options.end() ? "unknown" : loaded->second;
  if (version == TORCH_VERSION) return;
  throw Error(ExitCode::kEnvironment,
              "the LibTorch found at run time is not the one this program was built for")
      .where("hftrain-worker")
      .why("built for torch " TORCH_VERSION ", loaded " + version)
      .hint(
          "an installed hftrain takes `hftrain-libtorch fetch`, a checkout scripts/setup; or point the "
          "library path at "
          "the wheel of torch " TORCH_VERSION);
}

// LibTorch starts one thread per core by itself, which makes ranks on one machine fight; and with a pool for
// inter-operator work, which nothing here uses.
void fix_thread_counts(int threads) {
  at::set_num_threads(threads);
  if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);
}

// LibTorch's own log goes to stderr, with a stack for every lost connection that we report ourselves.
void quiet_library_log() {
  if (::getenv("TORCH_CPP_LOG_LEVEL")) {
    c10::initLogging();  // reads it
  } else {
    FLAGS_caffe2_log_level = c10::GLOG_ERROR;
  }
}

void use_gpu(WorkerContext& context) {
  context.cuda = &load_cuda_plugin(context.place.cuda_plugin);
  context.device_runtime = context.cuda->make_runtime();
  const int ordinal = context.place.cuda_ordinal;
  const int count = context.device_runtime->device_count();
  if (ordinal >= count) {
    throw Error(ExitCode::kEnvironment, "rank " + std::to_string(context.place.rank) + " is to use GPU " +
                                            std::to_string(ordinal) + " of those visible")
        .where("CUDA_VISIBLE_DEVICES")
        .why("this process sees " + std::to_string(count))
        .hint("`hftrain devices` shows what it should see");
  }
  context.device = c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(ordinal));
  context.device_runtime->set_current(context.device);
  check_device_uuid(context.place, context.device_runtime->uuid(context.device), Environment::of_process());
  take_first_memory([&] { at::empty({1}, at::TensorOptions(context.device)); }, context.logger);
}

}  // namespace

void check_device_uuid(const WorkerPlace& place, const std::string& opened, const Environment& environment) {
  const bool order_given = environment.get_or("CUDA_DEVICE_ORDER", "") == "PCI_BUS_ID" ||
                           environment.get_or("CUDA_VISIBLE_DEVICES", "").find("GPU-") != std::string::npos;
  if (!order_given) return;
  if (place.device_uuid.compare(0, 4, "GPU-") != 0 || place.device_uuid == opened) return;
  throw Error(ExitCode::kEnvironment,
              "rank " + std::to_string(place.rank) + " has opened another GPU than the plan gives it")
      .where("device " + std::to_string(place.cuda_ordinal) + " of those visible")
      .why("the plan says " + place.device_uuid + ", this process sees " + opened + " there")
      .hint("leave CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER as they were when the run was started");
}

WorkerContext make_worker_context(const WorkerPlace& place, const Numerics& numerics, Logger logger) {
  return translate_exceptions([&] {
    check_torch_version();
    quiet_library_log();
    install_tensor_memory(place.pages);
    set_library_environment(numerics);
    fix_thread_counts(place.threads);
    WorkerContext context;
    context.place = place;
    context.logger = std::move(logger);
    if (place.cuda_ordinal >= 0) {
      use_gpu(context);
    } else {
      context.device_runtime = make_cpu_runtime();
    }
    apply_numerics(numerics);
    return context;
  });
}

}  // namespace hftrain::runtime

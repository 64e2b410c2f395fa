#include "hftrain/runtime/worker_context.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <stdlib.h>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

using namespace hftrain;

TEST_CASE("a CPU worker gets the threads of its plan and no pool between operators") {
  const auto context = runtime::make_worker_context({.rank = 1, .world_size = 2, .threads = 2}, {}, {});
  CHECK(context.device == c10::Device(c10::DeviceType::CPU));
  CHECK(at::get_num_threads() == 2);
  CHECK(at::get_num_interop_threads() == 1);
  CHECK(context.cuda == nullptr);
  CHECK(context.device_runtime->device_count() == 1);
  CHECK(context.device_runtime->memory(context.device).peak_allocated == 0);
}

TEST_CASE("full determinism and TF32 set the switches of the contract") {
  ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
  ::setenv("CUDA_LAUNCH_BLOCKING", "0", 1);
  ::unsetenv("PYTORCH_ALLOC_CONF");
  ::unsetenv("PYTORCH_CUDA_ALLOC_CONF");
  const runtime::Numerics numerics{.full_determinism = true, .tf32 = true};
  runtime::set_library_environment(numerics);
  CHECK(std::string(::getenv("PYTORCH_ALLOC_CONF")) == "expandable_segments:True");
  runtime::apply_numerics(numerics);
  CHECK(std::string(::getenv("CUBLAS_WORKSPACE_CONFIG")) == ":16:8");
  CHECK(std::string(::getenv("CUDA_LAUNCH_BLOCKING")) == "0");  // the user's word stands
  CHECK(at::globalContext().deterministicAlgorithms());
  CHECK_FALSE(at::globalContext().deterministicAlgorithmsWarnOnly());
  CHECK_FALSE(at::globalContext().deterministicFillUninitializedMemory());
  CHECK(at::globalContext().deterministicCuDNN());
  CHECK_FALSE(at::globalContext().benchmarkCuDNN());
  CHECK(at::globalContext().allowTF32CuBLAS());
  CHECK(at::globalContext().allowTF32CuDNN());
  CHECK_FALSE(at::globalContext().userEnabledCuDNNSDP());
  runtime::apply_numerics({.cudnn_attention = true});
  CHECK(at::globalContext().userEnabledCuDNNSDP());
  at::globalContext().setDeterministicAlgorithms(false, false);
}

TEST_CASE("what the user says of LibTorch's allocator under its old name stands alone") {
  ::unsetenv("PYTORCH_ALLOC_CONF");
  ::setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:128", 1);
  runtime::set_library_environment({});
  CHECK(::getenv("PYTORCH_ALLOC_CONF") == nullptr);
  ::unsetenv("PYTORCH_CUDA_ALLOC_CONF");
}

TEST_CASE("NCCL begins operations of several groups in one order, unless the user says otherwise") {
  ::unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  runtime::set_library_environment({});
  CHECK(::getenv("NCCL_LAUNCH_ORDER_IMPLICIT") == nullptr);
  runtime::set_library_environment({.several_groups = true});
  REQUIRE(::getenv("NCCL_LAUNCH_ORDER_IMPLICIT") != nullptr);
  CHECK(std::string(::getenv("NCCL_LAUNCH_ORDER_IMPLICIT")) == "1");
  ::setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "0", 1);
  runtime::set_library_environment({.several_groups = true});
  CHECK(std::string(::getenv("NCCL_LAUNCH_ORDER_IMPLICIT")) == "0");
  ::unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
}

TEST_CASE("a rank that opens another GPU than the plan's says so") {
  const std::string planned = "GPU-01234567-89ab-cdef-0123-456789abcdef", other = "GPU-f" + planned.substr(5);
  const runtime::WorkerPlace place{.rank = 3, .cuda_ordinal = 1, .device_uuid = planned};
  Environment ordered, guessed;
  ordered.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  guessed.set("CUDA_VISIBLE_DEVICES", "1,0");
  CHECK_NOTHROW(runtime::check_device_uuid(place, planned, ordered));
  CHECK_NOTHROW(runtime::check_device_uuid(place, other, guessed));
  CHECK_NOTHROW(runtime::check_device_uuid({.device_uuid = ""}, other, ordered));
  CHECK_NOTHROW(runtime::check_device_uuid({.device_uuid = "MIG-" + planned.substr(4)}, other, ordered));
  guessed.set("CUDA_VISIBLE_DEVICES", planned);
  CHECK_REFUSED(runtime::check_device_uuid(place, other, guessed),
                "rank 3 has opened another GPU than the plan gives it");
  try {
    runtime::check_device_uuid(place, other, ordered);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK(std::string(error.what()) == "rank 3 has opened another GPU than the plan gives it");
    CHECK(error.diagnostics().front().why ==
          "the plan says " + planned + ", this process sees " + other + " there");
  }
}

TEST_CASE("a plug-in that is not there is an error of the environment that names it") {
  const testing::TemporaryDirectory directory;
  const std::string path = directory / "libhftrain_cuda.so";
  try {
    runtime::make_worker_context({.cuda_ordinal = 0, .cuda_plugin = path}, {}, {});
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK(error.diagnostics().front().where == path);
    CHECK(error.diagnostics().front().why.find("No such file") != std::string::npos);
  }
}

#include "hftrain/arguments/flags/rows.h"

namespace hftrain::arguments {

std::vector<Flag> device_flags() {
  return {
      {.name = "cuda_graphs",
       .slot = unread_optional(Type::kText, "auto"),
       .help = "Replay the update as a CUDA graph where shapes repeat.",
       .choices = {{"auto"}, {"true"}, {"false"}},
       .ours = true,
       .also_fine = "\"false\"",
       .support = refused("a recorded update would go on with the learning rate, the number of tokens and "
                          "the loss scale that it was recorded with, which the host gives each update here; "
                          "auto launches every kernel by itself",
                          "auto")},
      {.name = "torch_empty_cache_steps",
       .slot = at<&Arguments::device, &DeviceArguments::torch_empty_cache_steps>,
       .help = "Return cached device memory to the driver every N updates.",
       .note =
           "Before every backward pass of an update whose number of updates before it is a multiple of N. On "
           "the "
           "CPU the memory that tensors have left goes back to the kernel. It saves memory and costs time.",
       .unit = "updates",
       .range = above(0)},
      {.name = "use_cpu",
       .slot = at<&Arguments::device, &DeviceArguments::use_cpu>,
       .help = "Train on the CPU even when GPUs are there.",
       .aliases = {"cpu"},
       .common = true},
      {.name = "no_cuda",
       .slot = unread(Type::kBool, "false"),
       .help = "Old name of use_cpu.",
       .note = "Not the negation of a flag cuda.",
       .replaced_by = {.flag = "use_cpu", .value = "true"}},
      {.name = "use_mps_device",
       .slot = unread(Type::kBool, "false"),
       .help = "Old switch for Apple GPUs.",
       .support = refused("there are no Apple GPUs on Linux")},
      {.name = "tpu_num_cores", .slot = unread_optional(Type::kInt), .help = "TPU cores.", .support = kNoTpu},
      {.name = "tpu_name",
       .slot = unread_optional(Type::kText),
       .help = "TensorFlow arguments: TPU name.",
       .support = kNoTpuNoTensorFlow},
      {.name = "tpu_zone",
       .slot = unread_optional(Type::kText),
       .help = "TensorFlow arguments: TPU zone.",
       .support = kNoTpuNoTensorFlow},
      {.name = "gcp_project",
       .slot = unread_optional(Type::kText),
       .help = "TensorFlow arguments: cloud project of the TPU.",
       .support = kNoTpuNoTensorFlow},
      {.name = "xla",
       .slot = unread(Type::kBool, "false"),
       .help = "TensorFlow arguments: XLA compilation.",
       .support = refused("there is no XLA here")},
      {.name = "use_xpu",
       .slot = unread(Type::kBool, "false"),
       .help = "Intel GPUs (accelerate before 1.x).",
       .support = refused("there is no Intel GPU back end")},
      {.name = "gpu_ids",
       .slot = unread_optional(Type::kText),
       .help = "GPUs to use, comma separated, or all.",
       .note = "Sets CUDA_VISIBLE_DEVICES; inside a mask that is already there the numbers are positions.",
       .commas = true,
       .imported = true},
  };
}

}  // namespace hftrain::arguments

#include "hftrain/arguments/flags/rows.h"

namespace hftrain::arguments {

std::vector<Flag> offload_flags() {
  return {
      {.name = "offload_optimizer_device",
       .slot = unread_optional(Type::kText),
       .help = "Where optimizer state lives.",
       .note = "In DeepSpeed training; without it only none is taken.",
       .choices = {{"none"}, {"cpu"}, {"nvme"}},
       .imported = true},
      {.name = "offload_param_device",
       .slot = unread_optional(Type::kText),
       .help = "Where parameters live.",
       .note = "In DeepSpeed training of stage 3; without it only none is taken.",
       .choices = {{"none"}, {"cpu"}, {"nvme"}},
       .imported = true},
      {.name = "offload_optimizer_nvme_path",
       .slot = unread_optional(Type::kText),
       .help = "Folder on NVMe for optimizer state.",
       .note = "nvme as offload_optimizer_device needs it.",
       .path = true,
       .imported = true},
      {.name = "offload_param_nvme_path",
       .slot = unread_optional(Type::kText),
       .help = "Folder on NVMe for parameters.",
       .note = "nvme as offload_param_device needs it.",
       .path = true,
       .imported = true},
      {.name = "fsdp_offload_params",
       .slot = unread(Type::kBool, "false"),
       .help = "Keep parameters and gradients on the CPU.",
       .note = "The optimizer's state too.",
       .imported = true},
      {.name = "fsdp_activation_checkpointing_offload",
       .slot = unread(Type::kBool, "false"),
       .help = "Keep the saved unit inputs in pinned host memory.",
       .note = "On a GPU; a CPU rank has them there anyway. Refused without fsdp_activation_checkpointing, "
               "and with fsdp_version 1, its default.",
       .imported = true},
  };
}

}  // namespace hftrain::arguments

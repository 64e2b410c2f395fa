#include "hftrain/arguments/flags/rows.h"

namespace hftrain::arguments {

std::vector<Flag> offload_flags() {
  return {
      {.name = "offload_optimizer_device",
       .slot = unread_optional(Type::kText),
       .help = "Where optimizer state lives.",
       .choices = {{"none"}, {"cpu"}, {"nvme"}},
       .imported = true},
      {.name = "offload_param_device",
       .slot = unread_optional(Type::kText),
       .help = "Where parameters live.",
       .choices = {{"none"}, {"cpu"}, {"nvme"}},
       .imported = true},
      {.name = "offload_optimizer_nvme_path",
       .slot = unread_optional(Type::kText),
       .help = "Folder on NVMe for optimizer state.",
       .path = true,
       .imported = true},
      {.name = "offload_param_nvme_path",
       .slot = unread_optional(Type::kText),
       .help = "Folder on NVMe for parameters.",
       .path = true,
       .imported = true},
      {.name = "fsdp_offload_params",
       .slot = unread(Type::kBool, "false"),
       .help = "Keep parameters and gradients on the CPU.",
       .imported = true},
      {.name = "fsdp_activation_checkpointing_offload",
       .slot = unread(Type::kBool, "false"),
       .help = "Keep the saved unit inputs in pinned host memory.",
       .note = "With activation checkpointing on a GPU; a CPU rank has them there anyway.",
       .imported = true},
  };
}

}  // namespace hftrain::arguments

#include "hftrain/arguments/flags/rows.h"

namespace hftrain::arguments {

std::vector<Flag> debug_flags() {
  return {
      {.name = "debug",
       .slot = unread(Type::kList, ""),
       .help = "Debug features.",
       .choices = {{"underflow_overflow"}, {"tpu_metrics_debug", refused("not for this hardware", "")}},
       .commas = true,
       .support = planned("not in this build; non-finite losses and gradients are reported always")},
      {.name = "tpu_metrics_debug",
       .slot = unread(Type::kBool, "false"),
       .help = "Old switch for TPU metrics.",
       .support = kNoTpu},
  };
}

}  // namespace hftrain::arguments

#include "hftrain/arguments/flags/rows.h"

namespace hftrain::arguments {

std::vector<Flag> debug_flags() {
  return {
      {.name = "debug",
       .slot = at<&Arguments::debug, &DebugArguments::debug>,
       .help = "Debug features.",
       .note =
           "underflow_overflow: the run ends (exit code 8) at the first module whose inputs, weights or "
           "outputs hold inf or NaN, and says which, with the modules before it. It looks at every number, "
           "which takes time. true, or the flag alone, is that of accelerate launch.",
       .choices = {{"underflow_overflow"},
                   {"tpu_metrics_debug", refused("not for this hardware", "")},
                   {"true",
                    accepted("there is no mode in which ranks compare tensors before every operation")},
                   {"false"}},
       .commas = true,
       .bare = "true"},
      {.name = "tpu_metrics_debug",
       .slot = unread(Type::kBool, "false"),
       .help = "Old switch for TPU metrics.",
       .support = kNoTpu},
      {.name = "profile_steps",
       .slot = at<&Arguments::debug, &DebugArguments::profile_steps>,
       .help = "Write what these updates spend their time on as a trace for Chrome: N or FIRST:LAST.",
       .note =
           "Counted from 1. OUTPUT_DIR/hftrain/profile/rank-R.json of every rank, for chrome://tracing and "
           "ui.perfetto.dev; operators with the shapes of their inputs, on a GPU its kernels too.",
       .unit = "updates",
       .ours = true},
  };
}

}  // namespace hftrain::arguments

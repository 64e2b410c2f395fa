#include "hftrain/arguments/flags/rows.h"

namespace hftrain::arguments {

std::vector<Flag> output_flags() {
  return {
      {.name = "output_dir",
       .slot = at<&Arguments::output, &OutputArguments::output_dir>,
       .help = "Directory of the run: checkpoints, final model, states, result files.",
       .note = "Unset means trainer_output with a notice (older versions: required). A leading ~ is "
               "expanded. Created on the saving ranks only.",
       .path = true,
       .common = true},
      {.name = "overwrite_output_dir",
       .slot = at<&Arguments::output, &OutputArguments::overwrite_output_dir>,
       .help = "Lets a training run start in an output directory that already has content.",
       .note = "Read by scripts only.",
       .common = true},
  };
}

}  // namespace hftrain::arguments

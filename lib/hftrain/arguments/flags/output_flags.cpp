#include "hftrain/arguments/flags/rows.h"

namespace hftrain::arguments {

std::vector<Flag> output_flags() {
  return {
      {.name = "output_dir",
       .slot = at<&Arguments::output, &OutputArguments::output_dir>,
       .help = "Directory of the run: checkpoints, final model, states, result files.",
       .note = "Unset: trainer_output, with a notice.",
       .path = true,
       .common = true},
      {.name = "overwrite_output_dir",
       .slot = at<&Arguments::output, &OutputArguments::overwrite_output_dir>,
       .help = "Lets a training run start in an output directory that already has content.",
       .note = "Checkpoints of an earlier run are moved aside, never deleted.",
       .aliases = {"overwrite_output"},
       .common = true},
  };
}

}  // namespace hftrain::arguments

// Which files of a run a push sends, as paths relative to their folder, in their order. Throw an Error (kDisk) for a folder that cannot
// be listed.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hftrain::front {

// Patterns (base/path_pattern.h) of what a push leaves in an output folder: checkpoints and what is the run's own, and what the Trainer
// leaves out.
const std::vector<std::string>& patterns_that_stay();
// Of what belongs in a checkpoint to going on, and not to the model.
const std::vector<std::string>& patterns_of_state();

std::vector<std::string> files_of_output(const std::string& output_dir);
std::vector<std::string> files_of_checkpoint(const std::string& checkpoint);

// The model of a checkpoint in the place of the output folder's.
struct ModelFiles {
  std::vector<std::string> of_checkpoint;
  std::vector<std::string> of_output;  // beside them
  std::vector<std::string> older;      // the output folder's, whose place they take
};
// Nothing when the checkpoint has only ranks' parts of it (--fsdp_state_dict_type).
std::optional<ModelFiles> files_of_model(const std::string& output_dir, const std::string& checkpoint);

}  // namespace hftrain::front

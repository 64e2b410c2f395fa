// Commands of `hf` (huggingface_hub 1.0 or newer, whose options take one pattern each) that send by hand what a run could not: each leaves
// in the repository what the run's own push would have left there. Read the folders; throw an Error (kDisk) for one that cannot be listed.
#pragma once

#include <optional>
#include <string>

#include "launcher/front/hub_target.h"

namespace hftrain::front {

// The output folder of a run whose training has ended.
std::string command_for_output(const HubTarget& target, const std::string& output_dir);
// The model of a checkpoint, and what else lies in the output folder. Nothing when the checkpoint holds no whole model.
std::optional<std::string> command_for_model(const HubTarget& target, const std::string& output_dir,
                                             const std::string& checkpoint);
// All of a checkpoint, as the repository's folder `name`.
std::string command_for_checkpoint(const HubTarget& target, const std::string& checkpoint,
                                   const std::string& name);

}  // namespace hftrain::front

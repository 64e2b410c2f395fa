// What a run reads from the folder that --overwrite_output_dir moves aside before it begins.
#pragma once

#include <map>
#include <string>

#include "launcher/front/inputs.h"

namespace hftrain::front {

// Error(kUsage) where the checkpoint to go on from, the model, its tokenizer, data, the token cache, a plugin or the worker
// program lie in the output folder. `prepared`: splits by name and where their samples are, which alone know the images that
// rows name.
void refuse_what_moves_aside(const Inputs& inputs, const std::map<std::string, std::string>& prepared = {});

}  // namespace hftrain::front

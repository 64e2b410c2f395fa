// The rules between the settings of FSDP, and what the settings mean together.
#pragma once

#include <string>
#include <vector>

#include "hftrain/arguments/import/fsdp_settings.h"
#include "hftrain/arguments/parse.h"

namespace hftrain::arguments {

// All that was said about FSDP, from all places.
struct FsdpRequest {
  std::vector<std::string> words;  // of --fsdp; empty when the launch flags or the environment ask for it
  std::string words_origin;
  bool launched = false;  // as `accelerate launch --use_fsdp` does
  std::string launch_origin;
  bool configured = false;  // there is an fsdp_config
  FsdpSettings settings;
};

// Checks the rules F1 to F13 and fills outcome.arguments.parallel.sharding.
void settle_fsdp(const FsdpRequest& request, ParseOutcome& outcome, Diagnostics& problems);

}  // namespace hftrain::arguments

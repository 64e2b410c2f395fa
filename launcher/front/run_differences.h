// In what an output folder's run and this one are two, in words.
#pragma once

#include <string>
#include <vector>

#include "hftrain/plan/run_plan.h"
#include "hftrain/storage/manifest.h"
#include "launcher/front/inputs.h"

namespace hftrain::front {

// "NAME: THIS there, THAT here" for each part of the identity that differs from that of the checkpoint in `folder`; none: it is the
// same run. Where the identity holds a hash alone, keys of the model's configuration and paths of data files say what differs, as far
// as the checkpoint's config.json and the token cache still tell. Of data that are not prepared yet those of training are compared.
std::vector<std::string> run_differences(const Inputs& inputs, const std::string& folder,
                                         const storage::Manifest& manifest, const plan::RunPlan& plan);

}  // namespace hftrain::front

// Where a run pushes to, looked for and told before it begins.
#pragma once

#include <optional>

#include "hftrain/reporting/console.h"
#include "launcher/front/hub_target.h"
#include "launcher/front/inputs.h"
#include "launcher/front/job.h"

namespace hftrain::app {

// Where the run pushes to, as its arguments and this machine say it; the Hub itself is not asked.
std::optional<front::HubTarget> named_target(const front::Inputs& inputs, bool trains, bool pushes_here,
                                             reporting::Console& console);
// The same, tried. Whether the run may push is known before it begins; whether the Hub can be reached may change until it ends.
std::optional<front::HubTarget> look_for_hub(const front::Inputs& inputs, bool trains, front::Job& job,
                                             reporting::Console& console);

}  // namespace hftrain::app

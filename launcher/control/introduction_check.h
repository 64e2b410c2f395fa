// What another agent says of itself before a job begins is a peer's word: what is planned with it is looked at first. Pure.
#pragma once

#include <optional>
#include <string>

#include "hftrain/base/error.h"
#include "launcher/control/message.h"

namespace hftrain::launcher {

// Of the agent called `name` ("node 1 (host-b)"): the first value that no machine has and no program of this build says
// (kUsage), nothing when there is none. Ranks that do not make one job are found by the plan.
std::optional<Error> unfit_introduction(const Introduction& introduction, const std::string& name);

}  // namespace hftrain::launcher

#pragma once

#include <string>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/optim/schedule.h"
#include "support/catch.h"

namespace hftrain::testing {

// The usage error of making this schedule, as shown, or "accepted".
inline std::string schedule_failure(const std::string& name, const Json& options) {
  try {
    optim::make_schedule(name, {1e-4, 2, 10}, options);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.render();
  }
  return "accepted";
}

}  // namespace hftrain::testing

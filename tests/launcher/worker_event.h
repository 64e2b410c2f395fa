#pragma once

#include <utility>

#include "hftrain/base/json.h"
#include "hftrain/plan/worker_protocol.h"

namespace hftrain::testing {

inline plan::WorkerEvent event(plan::WorkerEvent::Kind kind, int rank = 0, Json data = Json::object()) {
  return {kind, rank, 0, std::move(data)};
}

}  // namespace hftrain::testing

// Second stage: the token blocks of the run, estimated for a dry run, otherwise found in the cache or made.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/data/prepare_request.h"
#include "hftrain/plan/resolve.h"
#include "hftrain/reporting/console.h"
#include "launcher/front/inputs.h"

namespace hftrain::front {

// What the arguments ask of data::prepare.
data::PrepareRequest prepare_request(const Inputs& inputs);

// From the cache, or a guess from the sizes of the files when it is not there (then `exact` is false).
data::PreparedData estimated(const data::PrepareRequest& request);
plan::DataFacts estimate_data(const data::PrepareRequest& request);

// From the cache, or made now with progress on the console. Nothing when a signal asked to stop meanwhile;
// the cache is then as before.
std::optional<data::PreparedData> prepare_data(const data::PrepareRequest& request,
                                               reporting::Console& console);
// The same for who watches signals himself: nothing when `stop` became true. May run in any one thread.
std::optional<data::PreparedData> prepare_data_until(const data::PrepareRequest& request,
                                                     reporting::Console& console,
                                                     const std::atomic<bool>& stop);
// What a job of several nodes ends with then: code 10, for there is nothing to be saved.
Error stopped_while_preparing();

plan::DataFacts facts_of(const data::PreparedData& prepared);
// Splits by name, and where their tokens are.
std::map<std::string, std::string> paths_of(const data::PreparedData& prepared);

}  // namespace hftrain::front

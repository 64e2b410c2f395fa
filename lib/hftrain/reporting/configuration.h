// What trackers are told that a run was made with.
#pragma once

#include "hftrain/base/json.h"
#include "hftrain/reporting/record_sink.h"

namespace hftrain::reporting {

// The keys of the model's config.json, under the arguments as in the Trainer's callbacks; an argument that nobody gave hides none
// of them. Intervals of updates are whole numbers where they are no shares, as TrainingArguments makes them.
Json configuration_of(const ReportedRun& run);

}  // namespace hftrain::reporting

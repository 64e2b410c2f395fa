// What is wrong with the rows of a stream as a whole (exit code 4).
#pragma once

#include <cstdint>

#include "hftrain/base/error.h"
#include "hftrain/data/stream_reading.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::trainer {

// An epoch ended with these `samples` and `tokens`, and without a batch.
Error no_batch_in_stream(const plan::RunPlan& plan, const data::StreamSource& source, int64_t samples,
                         int64_t tokens);
// An epoch ended after `there` samples, and the run goes on at sample `place` of it.
Error stream_too_short(const data::StreamSource& source, int64_t place, int64_t there);

}  // namespace hftrain::trainer

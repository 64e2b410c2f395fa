// A worker that writes texts: opens the model that it is told of and answers requests until their descriptor ends
// (generation/text_protocol.h).
#pragma once

#include "hftrain/base/exit_code.h"
#include "options.h"

namespace hftrain::worker {

// What goes wrong with the model is said on the control descriptor and ends the worker; a request that cannot be answered
// is refused there, and the next one is read.
ExitCode serve_texts(const Options& options);

}  // namespace hftrain::worker

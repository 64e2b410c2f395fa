// Fills in what one flag implies for another (the rules that set values rather than refuse).
#pragma once

#include "hftrain/arguments/parse.h"

namespace hftrain::arguments {

void derive(const Environment& environment, ParseOutcome& outcome);

// --do_train, or no word of training, evaluation and prediction; an evaluation strategy alone asks for training. A file's `do_train: false`
// is the default that files repeat; on a command line it means no.
bool wants_training(const ParseOutcome& outcome);

}  // namespace hftrain::arguments

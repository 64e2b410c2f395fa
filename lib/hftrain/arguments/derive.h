// Fills in what one flag implies for another (the rules that set values rather than refuse).
#pragma once

#include "hftrain/arguments/parse.h"

namespace hftrain::arguments {

// A note of derive(): nothing for a command that writes no output folder.
bool is_about_output_folder(const Diagnostic& note);

void derive(const Environment& environment, ParseOutcome& outcome);

// --do_train, or no word of training, evaluation and prediction. An evaluation strategy alone asks for training, unless the command line
// says `--do_train false`: a file's is the default that files repeat.
bool wants_training(const ParseOutcome& outcome);

}  // namespace hftrain::arguments

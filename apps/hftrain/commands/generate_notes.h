// What a person should know of settings of generation, and of variables, that do nothing in this run.
#pragma once

#include <ostream>

#include "generate_flags.h"
#include "generate_model.h"
#include "hftrain/base/environment.h"

namespace hftrain::app {

// A line each: flags beside others that take their effect away, and ends of texts that the model does not have.
// `setup`: what the model's worker is told.
void note_idle_settings(const GenerateFlags& flags, const WritingModel& model,
                        const generation::TextSetup& setup, std::ostream& out);
// A line for each variable of threads that holds no such number, as a run warns of it.
void warn_of_unread_threads(const Environment& environment, std::ostream& out);

}  // namespace hftrain::app

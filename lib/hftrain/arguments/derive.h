// Fills in what one flag implies for another (the rules that set values rather than refuse).
#pragma once

#include "hftrain/arguments/parse.h"

namespace hftrain::arguments {

void derive(const Environment& environment, ParseOutcome& outcome);

}  // namespace hftrain::arguments

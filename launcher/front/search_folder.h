// A search and a run of its own in one folder would be taken for each other: by who goes on with them and by reports.
#pragma once

#include "launcher/front/inputs.h"

namespace hftrain::front {

// For a run. Error(kUsage) where its output folder is that of a search, unless a run is there, too (an earlier version has begun both).
void refuse_folder_of_search(const Inputs& inputs);
// For a search. Error(kUsage) where its output folder is that of a run, unless a search is there, too.
void refuse_folder_of_run(const Inputs& inputs);

}  // namespace hftrain::front

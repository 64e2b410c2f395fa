// Paths of a run stand in its plan, which is JSON for the ranks, and so UTF-8: in another encoding a name would come to
// them as another one, and they would write beside it.
#pragma once

#include <string>

#include "hftrain/base/json.h"

namespace hftrain::front {

// Error(kUsage) where a folder that nobody named by a flag (the current one, one of the environment) is not UTF-8;
// `named` says which it is.
void require_text(const std::string& folder, const std::string& named);

// The folder that relative paths start in.
void require_text_of_current_folder();

// Of every text in a plan, its keys among them: a file that a pattern or a folder of data led to, for example.
void require_text_in_plan(const Json& plan);

}  // namespace hftrain::front

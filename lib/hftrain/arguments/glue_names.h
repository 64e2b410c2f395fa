// Tasks of GLUE, which name their data where nothing else does. How each is read: tasks/glue_task.h.
#pragma once

#include <array>
#include <string_view>

namespace hftrain::arguments {

inline constexpr std::array<std::string_view, 9> kGlueNames = {"cola", "mnli", "mrpc", "qnli", "qqp",
                                                               "rte",  "sst2", "stsb", "wnli"};

}  // namespace hftrain::arguments

// The command table as plain text, for documents and completions.
#pragma once

#include <vector>

#include "command.h"
#include "hftrain/arguments/documentation.h"

namespace hftrain::app {

inline std::vector<arguments::CommandSummary> command_summaries() {
  std::vector<arguments::CommandSummary> summaries;
  for (const Command& command : commands()) summaries.emplace_back(command.name, command.summary);
  return summaries;
}

}  // namespace hftrain::app

// What is wrong of a search, told before its first trial, all at once.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "hftrain/arguments/parse.h"
#include "hftrain/search/specification.h"

namespace hftrain::app {

struct SearchRequest {
  std::string file;
  std::vector<std::string> flags;  // of every trial, and --json in any of its forms
};

// The file. Error (kUsage) with its mistakes and those of the command line that are such whatever the space has.
search::Specification read_search(const SearchRequest& request);

// The flags of the trial at that place of every range and list of choices, from 0 to 1. Error (kUsage).
arguments::ParseOutcome parse_at(const CommandContext& context, const SearchRequest& request,
                                 const search::Space& space, double place);

// What trials would end with: at both ends of every range, and for all choices. The flags of the last of them. Error (kUsage) with all
// that is wrong.
arguments::ParseOutcome check_search(const CommandContext& context, const SearchRequest& request,
                                     const search::Specification& specification);

}  // namespace hftrain::app

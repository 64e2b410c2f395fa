// One HTML page of runs, complete in itself: nothing is fetched, its security policy forbids it.
#pragma once

#include <string>
#include <vector>

#include "hftrain/report/run.h"

namespace hftrain::report {

enum class PageKind {
  kFile,  // to be kept
  kLive,  // of a server, whom it asks every few seconds whether the runs have changed
};

// `runs` in the order of the user, at least one; runs of one name get their folders' names, then numbers, to be told apart.
std::string page_of(std::vector<Run> runs, PageKind kind);

// Whether `text` begins as page_of() begins.
bool is_page(std::string_view text);

}  // namespace hftrain::report

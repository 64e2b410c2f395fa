// --hf_compat: the defaults and habits of an older transformers release (docs/compatibility.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hftrain/arguments/parse.h"
#include "hftrain/arguments/raw_argument.h"

namespace hftrain::arguments {

// A release as a number that can be compared: 4.47.1 is 44701, and 4.47, of which the newest is meant, 44799.
inline constexpr int64_t kThisRelease = 51700;  // whose defaults are those without the flag
inline constexpr int64_t kOldestRelease =
    44603;  // older ones count losses and leftover micro-batches in another way
std::optional<int64_t> release_number(std::string_view text);

// What the checked --hf_compat names; kThisRelease without it.
int64_t asked_release(const Arguments& arguments);

// What a flag is where nobody gives it, in that release.
Json default_in(std::string_view flag, int64_t release);

// Gives flags that nobody gave the default that they had, with hf_compat as origin; before derive(). A release that
// is none or not one of these is a problem, a flag that it lacks makes a run impossible.
void apply_older_defaults(ParseOutcome& outcome, Diagnostics& problems, Diagnostics& unrunnable);

}  // namespace hftrain::arguments

// Which flags a name means that is none: names of other trainers, parts of names, and slips of the hand.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/suggest.h"

namespace hftrain::arguments {

// What other trainers and people call a flag.
std::span<const Synonym> flag_synonyms();

// At most three names of flags, the likeliest first; never one that is refused. `written` is without leading
// dashes.
std::vector<std::string> suggest_flags(std::string_view written);

// What to do about a flag of an example script that nothing here does by that name; empty for any other.
std::string hint_for_script_flag(std::string_view written);

// What to do about an unknown flag, or, with an empty `prefix`, about a key of a file: "did you mean --a or
// --b?" with `prefix` before each name, or where all of them are listed.
std::string hint_for_unknown(std::string_view written, std::string_view prefix);
// The same of a key of a file that holds keys.
std::string hint_for_group(std::string_view written);

}  // namespace hftrain::arguments

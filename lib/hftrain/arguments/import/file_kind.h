// Whose configuration a mapping is, by keys that no other program's has.
#pragma once

#include <string>
#include <string_view>

#include "hftrain/arguments/raw_argument.h"
#include "hftrain/arguments/section.h"

namespace hftrain::arguments {

struct FileKind {
  std::string_view key;
  std::string_view of;    // whose it is, in messages
  std::string_view flag;  // that takes such a file
};
inline constexpr std::string_view kFileOfAccelerate = "Accelerate", kFileOfDeepSpeed = "DeepSpeed";

// Null for a key that gives no kind away.
const FileKind* kind_by_key(std::string_view key);

// Whether what was given for `flag` is a configuration that another flag takes. That is one mistake: it would else have one
// for each of its keys.
bool refuse_other_kind(const Section& section, const std::string& flag, Diagnostics& problems);

}  // namespace hftrain::arguments

// Where a flag comes from, and in which releases of transformers it was seen with which default.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "hftrain/base/json.h"

namespace hftrain::arguments {

// Whose flag it is; one that several have is listed under the first of them here.
enum class Origin { kTrainer, kSeq2Seq, kTensorFlow, kScripts, kTorchrun, kAccelerate, kDeepSpeed };
const char* describe(Origin origin);  // "the Trainer", "accelerate launch", …

// A default that was another one once.
struct OlderDefault {
  std::string_view last;   // the last release that was seen with it
  std::string_view value;  // in words
  Json given =
      nullptr;  // what --hf_compat of such a release gives; null: nothing, the value is of the page alone
};

// `first` and `last` are releases that were looked at, so a flag may have come, or have gone, a little before.
// Origins other than TrainingArguments have no releases here: both are empty.
struct FlagHistory {
  std::string_view flag;
  Origin origin = Origin::kTrainer;
  std::string_view first = {};  // empty: already in the oldest
  std::string_view last = {};   // empty: still in the newest
  std::vector<OlderDefault> older = {};
};

inline constexpr std::string_view kOldestLookedAt = "4.2.2";
inline constexpr std::string_view kNewestLookedAt = "5.17.0";

// A row for every flag that is not ours, by origin.
std::span<const FlagHistory> flag_histories();

}  // namespace hftrain::arguments

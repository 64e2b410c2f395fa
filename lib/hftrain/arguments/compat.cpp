#include "hftrain/arguments/compat.h"

#include <cmath>
#include <string>
#include <vector>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/release_history.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::arguments {
namespace {

constexpr int64_t kFirstWithFolder = 44800;
constexpr int64_t kFirstWithoutRatio = 50000;  // whose warmup_ratio is another name of warmup_steps

// Of a row one patch of each minor release was read: 4.57.1 speaks for 4.57, whatever its patch.
bool is_newer(int64_t release, std::string_view last) {
  return release / 100 > release_number(last).value_or(0) / 100;
}

// Null: it had that of today.
const Json* older_default(const FlagHistory& row, int64_t release) {
  for (const OlderDefault& older : row.older) {
    if (!older.given.is_null() && !is_newer(release, older.last)) return &older.given;
  }
  return nullptr;
}

// Before, a ratio of 1 was all updates, where warmup_steps counts one.
void take_warmup_ratio(ParseOutcome& outcome) {
  const auto ratio = outcome.unread.extract("warmup_ratio");
  if (ratio.empty() || ratio.mapped() != 1 || asked_release(outcome.arguments) >= kFirstWithoutRatio) return;
  outcome.arguments.schedule.warmup_steps = std::nextafter(1.0, 0.0);
}

}  // namespace

std::optional<int64_t> release_number(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const std::vector<std::string> parts = split(std::string(text), '.');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  int64_t number = 0;
  for (size_t i = 0; i < 3; ++i) {
    const std::optional<int> part = i < parts.size() ? whole_number(parts[i]) : std::optional(99);
    if (!part || *part > 99) return std::nullopt;
    number = number * 100 + *part;
  }
  return number;
}

int64_t asked_release(const Arguments& arguments) {
  const std::optional<std::string>& asked = arguments.interface.hf_compat;
  return asked ? release_number(*asked).value_or(kThisRelease) : kThisRelease;
}

Json default_in(std::string_view flag, int64_t release) {
  for (const FlagHistory& row : flag_histories()) {
    const Json* const older = row.flag == flag ? older_default(row, release) : nullptr;
    if (older != nullptr) return *older;
  }
  return flag_table().named(flag).default_value();
}

void apply_older_defaults(ParseOutcome& outcome, Diagnostics& problems, Diagnostics& unrunnable) {
  take_warmup_ratio(outcome);
  const std::optional<std::string>& asked = outcome.arguments.interface.hf_compat;
  if (!asked) return;
  const std::optional<int64_t> release = release_number(*asked);
  const auto refuse = [&](std::string what, std::string why) {
    problems.push_back({.what = std::move(what),
                        .where = outcome.origins.describe("hf_compat"),
                        .why = std::move(why),
                        .hint = "a release from 4.46.3 to 5.17"});
  };
  if (!release)
    return refuse("hf_compat: '" + *asked + "' is no release", "releases are numbers such as 4.49.0");
  if (*release < kOldestRelease)
    return refuse(
        "hf_compat " + *asked + " is too old",
        "up to 4.45 the loss was the mean over micro-batches and leftover ones went into the next epoch, "
        "which is not there");
  if (*release > kThisRelease + 99)
    return refuse("hf_compat " + *asked + " is not known", "it is newer than 5.17");
  for (const FlagHistory& row : flag_histories()) {
    const std::string flag(row.flag);
    if (!outcome.origins.is_default(flag)) continue;
    if (const Json* const older = older_default(row, *release)) {
      flag_table().named(row.flag).slot.set(outcome.arguments, *older);
      outcome.origins.set_filled_in(flag, "hf_compat " + *asked);
    }
  }
  if (*release < kFirstWithFolder && !outcome.arguments.output.output_dir)
    unrunnable.push_back({.what = "output_dir is missing",
                          .where = outcome.origins.describe("hf_compat"),
                          .why = "up to transformers 4.47 it had no default",
                          .hint = "--output_dir"});
}

}  // namespace hftrain::arguments

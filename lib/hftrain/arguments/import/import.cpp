#include "hftrain/arguments/import/import.h"

#include "hftrain/arguments/import/deepspeed.h"
#include "hftrain/arguments/import/fsdp.h"
#include "hftrain/arguments/import/parallelism_config.h"
#include "hftrain/arguments/import/sharded_ddp.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

bool given(const ParseOutcome& outcome, const std::string& flag) {
  const auto found = outcome.unread.find(flag);
  return found != outcome.unread.end() && !found->second.is_null() && found->second != false;
}

// The flag by which DeepSpeed is asked for; without one it is the environment.
const char* flag_of_deepspeed(const ParseOutcome& outcome) {
  for (const char* flag : {"deepspeed", "zero_stage"}) {
    if (given(outcome, flag)) return flag;
  }
  return "use_deepspeed";
}

// Rule 39, and the fifth of S and of T: one run has one way of sharding. False when there are several.
bool one_format(const Environment& environment, const ParseOutcome& outcome, Diagnostics& problems) {
  std::vector<std::string> asking, places;
  const auto add = [&](bool asks, const char* name, const char* flag, const char* variable) {
    if (!asks) return;
    asking.emplace_back(name);
    places.push_back(outcome.origins.is_given(flag) ? outcome.origins.describe(flag)
                                                    : std::string("environment ") + variable);
  };
  const bool words = given(outcome, "fsdp");
  add(asks_for_fsdp(environment, outcome), "fsdp", words ? "fsdp" : "use_fsdp", "ACCELERATE_USE_FSDP");
  add(asks_for_sharded_ddp(outcome), "sharded_ddp", "sharded_ddp", "");
  add(asks_for_deepspeed(environment, outcome), "deepspeed", flag_of_deepspeed(outcome),
      "ACCELERATE_USE_DEEPSPEED");
  if (asking.size() < 2) return true;
  problems.push_back({.what = join(asking, " and ") + " exclude each other",
                      .where = join(places, ", "),
                      .why = "each of them says how the run is sharded",
                      .hint = "keep one of them"});
  return false;
}

}  // namespace

void import_formats(const Environment& environment, ParseOutcome& outcome, Diagnostics& problems) {
  if (!one_format(environment, outcome, problems)) return;
  const std::optional<int64_t> fsdp_version = import_fsdp(environment, outcome, problems);
  import_sharded_ddp(outcome, problems);
  import_deepspeed(environment, outcome, problems);
  import_parallelism_config(environment, fsdp_version, outcome, problems);
}

}  // namespace hftrain::arguments

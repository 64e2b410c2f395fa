#include "hftrain/arguments/import/announced.h"

#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

constexpr const char *kFsdp = "ACCELERATE_USE_FSDP", *kDeepspeed = "ACCELERATE_USE_DEEPSPEED";

bool says_true(const Environment& environment, const char* name) {
  return to_lower(environment.get_or(name, "")) == "true";
}

// The last word on a switch; none when nobody gave one, or left it unset.
const RawArgument* last_word(const std::vector<RawArgument>& raw, std::string_view flag) {
  const RawArgument* last = nullptr;
  for (const RawArgument& each : raw) {
    const bool newer = last == nullptr || each.layer >= last->layer;
    if (each.flag->name == flag && !each.written.is_null() && newer) last = &each;
  }
  return last;
}

}  // namespace

bool announces_fsdp(const Environment& environment) {
  return says_true(environment, kFsdp);
}

bool announces_deepspeed(const Environment& environment) {
  return says_true(environment, kDeepspeed);
}

Environment without_declined_launches(Environment environment, const std::vector<RawArgument>& raw,
                                      Diagnostics& notes) {
  for (const auto& [variable, flag] :
       {std::pair(kFsdp, "use_fsdp"), std::pair(kDeepspeed, "use_deepspeed")}) {
    const RawArgument* word = says_true(environment, variable) ? last_word(raw, flag) : nullptr;
    if (word == nullptr) continue;
    const Result<Json> value = convert(*word->flag, word->written, "");
    const Json* said = std::get_if<Json>(&value);
    if (said == nullptr || *said != false) continue;
    environment.set(variable, "false");
    notes.push_back({.severity = Diagnostic::Severity::kNote,
                     .what = std::string(variable) + "=true of the environment counts as false",
                     .where = place(word->origin),
                     .why = std::string(flag) + " is false",
                     .hint = ""});
  }
  return environment;
}

}  // namespace hftrain::arguments

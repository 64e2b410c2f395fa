#include "hftrain/arguments/import/flag_values.h"

#include <utility>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/value.h"

namespace hftrain::arguments {
namespace {

// 1 and 1.0 are one value.
bool same(const Json& a, const Json& b) {
  return a.is_number() && b.is_number() ? a.get<double>() == b.get<double>() : a == b;
}

}  // namespace

void FlagValues::set(const std::string& flag, const Json& value, const std::string& key,
                     const std::string& place) {
  if (!given(flag)) return replace(flag, value, place);
  if (same(this->value(flag), value)) return;
  if (!is_of_environment(flag)) return conflict(flag, key, value, place);
  overrule(flag, key + " is " + to_yaml(value), place);
  replace(flag, value, place);
}

bool FlagValues::is_of_environment(const std::string& flag) const {
  return outcome_.origins.of(flag).starts_with(kEnvironmentOrigin);
}

void FlagValues::overrule(const std::string& flag, const std::string& why, const std::string& place) {
  const std::string origin = outcome_.origins.of(flag);
  outcome_.notes.push_back(
      {.severity = Diagnostic::Severity::kNote,
       .what = origin.substr(kEnvironmentOrigin.size()) + " of the environment has no effect",
       .where = place,
       .why = why,
       .hint = ""});
  outcome_.origins.forget(origin);
}

Json FlagValues::value(const std::string& flag) const {
  return flag_table().named(flag).slot.get(outcome_.arguments);
}

void FlagValues::conflict(const std::string& flag, const std::string& key, const Json& value,
                          const std::string& place, const std::string& hint) {
  problems_.push_back({.what = key + " and " + flag + " differ",
                       .where = place + ", " + outcome_.origins.describe(flag),
                       .why = to_yaml(value) + " against " + to_yaml(this->value(flag)),
                       .hint = hint});
}

void FlagValues::replace(const std::string& flag, const Json& value, const std::string& place) {
  flag_table().named(flag).slot.set(outcome_.arguments, value);
  outcome_.origins.set(flag, place);
}

}  // namespace hftrain::arguments

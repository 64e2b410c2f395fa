#include "hftrain/arguments/rules.h"

#include <string>
#include <utility>
#include <vector>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/merge.h"
#include "hftrain/arguments/rules/rule_groups.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

// Replaces {flag} by the flag's value.
std::string filled(std::string_view text, const ParseOutcome& outcome) {
  std::string result;
  while (true) {
    const size_t open = text.find('{');
    const size_t close = text.find('}', open);
    if (open == std::string_view::npos || close == std::string_view::npos) return result.append(text);
    result.append(text.substr(0, open));
    const Flag& flag = flag_table().named(text.substr(open + 1, close - open - 1));
    const Json value = flag.slot.get(outcome.arguments);
    result += value.is_string() ? value.get<std::string>() : to_yaml(value);
    text.remove_prefix(close + 1);
  }
}

std::string places(const Rule& rule, const Origins& origins) {
  std::vector<std::string> parts;
  for (const std::string_view flag : rule.flags) {
    if (origins.is_given(std::string(flag))) parts.push_back(origins.describe(std::string(flag)));
  }
  // Nobody gave any of them: the place is where they could be.
  return parts.empty() ? "command line and configuration files" : join(parts, ", ");
}

}  // namespace

std::span<const Rule> rules() {
  static const std::vector<Rule> kRules = [] {
    std::vector<Rule> all;
    for (const auto group : {interval_rules, training_rules, data_rules, launch_rules, task_rules,
                             effect_rules, loop_effect_rules})
      all.insert(all.end(), group().begin(), group().end());
    return all;
  }();
  return kRules;
}

void check_rules(ParseOutcome& outcome, bool names_known, Diagnostics& problems) {
  for (const Rule& rule : rules()) {
    if ((rule.about_missing && !names_known) || !rule.broken(outcome)) continue;
    Diagnostic diagnostic{
        .severity = rule.severity,
        .what = filled(rule.what, outcome),
        .where = places(rule, outcome.origins),
        .why = rule.why.empty() ? values_of(rule.flags, outcome) : filled(rule.why, outcome),
        .hint = std::string(rule.fix)};
    if (diagnostic.hint.empty()) diagnostic.hint = explain(std::string(rule.flags.front()));
    (rule.severity == Diagnostic::Severity::kError ? problems : outcome.notes)
        .push_back(std::move(diagnostic));
  }
}

}  // namespace hftrain::arguments

#include "hftrain/arguments/suggestions.h"

#include <string_view>
#include <utility>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {

namespace {

// Words that say nothing of which flag is meant: use_fp16, with_tracking, trainer.max_epochs.
constexpr std::string_view kFillers[] = {"args", "enable", "enabled", "trainer", "use", "with"};

bool works(const Flag& flag) {
  const bool is_old = !flag.replaced_by.flag.empty() && !flag.replaced_by.silent;
  return !is_old && flag.support.status == Support::kImplemented;
}

// Without what is refused. An old name and a flag without effect are taken, and still nobody is led there.
KnownNames names_of_flags() {
  std::vector<std::string> working, others;
  for (std::string& name : flag_table().spellings()) {
    const Flag& flag = *flag_table().find(name).flag;
    if (flag.support.status == Support::kRefused) continue;
    (works(flag) ? working : others).push_back(std::move(name));
  }
  return KnownNames(working, others);
}

bool is_of_command_line_alone(const std::string& name) {
  const FlagMatch match = flag_table().find(name);
  return match.negated || match.flag->command_line_only;
}

}  // namespace

std::vector<std::string> suggest_flags(std::string_view written) {
  static const KnownNames known = names_of_flags();
  return suggest_names(written, known, flag_synonyms(), kFillers);
}

std::string hint_for_unknown(std::string_view written, std::string_view prefix) {
  if (const std::string of_script = hint_for_script_flag(written); !of_script.empty()) return of_script;
  std::vector<std::string> names = suggest_flags(written);
  if (prefix.empty()) std::erase_if(names, is_of_command_line_alone);
  const std::string hint = did_you_mean(names, prefix);
  return hint.empty() ? "`hftrain --help-all` lists every flag" : hint;
}

std::string hint_for_group(std::string_view written) {
  std::vector<std::string> groups;
  for (const FlagGroup& group : flag_table().groups()) groups.emplace_back(group.name);
  const std::string hint = did_you_mean(suggest_names(written, groups), "");
  return hint.empty() ? hint_for_unknown(written, "") : hint;
}

}  // namespace hftrain::arguments

#include "hftrain/arguments/suggestions.h"

#include <algorithm>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {

namespace {

// Nobody is led to an old name or to what is refused anyway, but by a slip of the hand in that very name.
bool worth_naming(const std::string& name) {
  const Flag& flag = *flag_table().find(name).flag;
  const bool is_old = !flag.replaced_by.flag.empty() && !flag.replaced_by.silent;
  return !is_old && flag.support.status != Support::kRefused;
}

}  // namespace

std::vector<std::string> suggest_flags(std::string_view written) {
  static const KnownNames known(flag_table().spellings());
  std::vector<std::string> names = suggest_names(written, known, flag_synonyms());
  if (std::any_of(names.begin(), names.end(), worth_naming)) {
    std::erase_if(names, [](const std::string& name) { return !worth_naming(name); });
  }
  return names;
}

std::string hint_for_unknown(std::string_view written, std::string_view prefix) {
  const std::string hint = did_you_mean(suggest_flags(written), prefix);
  return hint.empty() ? "`hftrain --help-all` lists every flag" : hint;
}

}  // namespace hftrain::arguments

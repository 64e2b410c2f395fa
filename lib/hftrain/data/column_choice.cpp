#include "hftrain/data/column_choice.h"

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::data {
namespace {

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  if (names.empty()) return "the file has no columns";
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShown)));
  return "the columns are " + join(shown, ", ") + (names.size() > kShown ? ", …" : "");
}

}  // namespace

std::vector<std::string> chosen_columns(const ColumnRule& rule, const std::vector<std::string>& names,
                                        const std::string& where) {
  try {
    std::vector<std::string> chosen = rule.choose(names);
    if (chosen.size() != rule.columns)
      throw Error(ExitCode::kInternal, "a rule chooses " + std::to_string(chosen.size()) + " columns, not " +
                                           std::to_string(rule.columns));
    return chosen;
  } catch (Error& error) {
    throw error.where(where).why(listed(names));
  }
}

}  // namespace hftrain::data

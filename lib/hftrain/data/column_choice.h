// How sources ask a ColumnRule.
#pragma once

#include <string>
#include <vector>

#include "hftrain/data/row_source.h"

namespace hftrain::data {

// What `rule` takes of a file with such columns. An Error of the rule gets `where`, and the columns that are
// there as its reason.
std::vector<std::string> chosen_columns(const ColumnRule& rule, const std::vector<std::string>& names,
                                        const std::string& where);

}  // namespace hftrain::data

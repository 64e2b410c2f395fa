// Members of values that files hold, which others may have written or damaged.
#pragma once

#include <string>

#include "hftrain/base/json.h"

namespace hftrain {

// That member of an object; null where it has none of the name, or where the value is no object, for which Json::value throws.
Json json_member(const Json& object, const std::string& name);

// As text; empty where it is none.
std::string json_text(const Json& object, const std::string& name);

}  // namespace hftrain

// What templates can call without being given it: range, dict, namespace, raise_exception, strftime_now, cycler, joiner.
#pragma once

#include <string_view>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

// Nothing where there is none of that name. Errors: one that Jinja has and is not here.
std::optional<Value> global(Runtime& runtime, std::string_view name);

}  // namespace hftrain::chat

// Jinja's tests: value is name(arguments).
#pragma once

#include <string_view>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

bool is_test(std::string_view name);
// Errors: there is no such test.
bool apply_test(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments);

}  // namespace hftrain::chat

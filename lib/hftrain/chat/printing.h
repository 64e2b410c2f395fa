// str() and repr() of Python.
#pragma once

#include <string>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

// What {{ value }} puts out: nothing for what is undefined. Errors: functions and iterators, of which Python prints an
// address.
std::string printed(Runtime& runtime, const Value& value);
// As it stands in a printed list.
std::string repr(Runtime& runtime, const Value& value);
// 'text', with the quotes and escapes that Python takes.
std::string in_quotes(std::string_view text);

}  // namespace hftrain::chat

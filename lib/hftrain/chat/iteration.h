// iter() and len() of Python.
#pragma once

#include "hftrain/chat/value.h"

namespace hftrain::chat {

bool is_iterable(const Value& value);
// Characters of a text, keys of a dict, nothing of what is undefined. An iterator is its own. Errors: not iterable.
IteratorPtr iterate(Runtime& runtime, const Value& value);
// All that is left of it.
std::vector<Value> items_of(Runtime& runtime, const Value& value);
// reversed(value); nothing where Python has none.
std::optional<Value> reversed(Runtime& runtime, const Value& value);
std::optional<int64_t> length_of(Runtime& runtime, const Value& value);
Value item_of_view(Runtime& runtime, const View& view, size_t index);

// The message of an undefined value that is used.
std::string reason_of(const Undefined& undefined);

}  // namespace hftrain::chat

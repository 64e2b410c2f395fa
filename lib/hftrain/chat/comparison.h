// ==, <, in and hash() of Python.
#pragma once

#include "hftrain/chat/value.h"

namespace hftrain::chat {

bool equal(Runtime& runtime, const Value& a, const Value& b);
// a < b, `sign` being the operator in messages. Errors: values that have no order.
bool less(Runtime& runtime, const Value& a, const Value& b, std::string_view sign = "<");
// a <= b.
bool less_or_equal(Runtime& runtime, const Value& a, const Value& b, std::string_view sign = "<=");
// Errors: `container` is none.
bool contains(Runtime& runtime, const Value& container, const Value& item);

bool is_hashable(const Value& value);
// The same for equal values, numbers of different types among them. Errors: lists and dicts have none.
uint64_t hash_of(Runtime& runtime, const Value& value);
uint64_t hash_of_text(std::string_view text);

}  // namespace hftrain::chat

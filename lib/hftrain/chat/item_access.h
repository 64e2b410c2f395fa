// value.name, value[key] and value[a:b:c] as Jinja's sandbox has them: what is not there is undefined.
#pragma once

#include <string_view>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

// The member or method first, then the item of that name.
Value member_of(Runtime& runtime, const Value& value, std::string_view name);
// The item first, then the member.
Value item_of(Runtime& runtime, const Value& value, const Value& key);
// Each bound an integer, None, or null. Errors: the value has no slices, or a bound is of another type.
Value slice_of(Runtime& runtime, const Value& value, const Value* start, const Value* stop,
               const Value* step);

Undefined undefined_name(std::string_view name);

// A member that Python's object has: a method, bound to the value. Nothing where it has none of the name. Errors: one that
// Python has and templates have no use for.
std::optional<Value> attribute_of(Runtime& runtime, const Value& value, std::string_view name);

}  // namespace hftrain::chat

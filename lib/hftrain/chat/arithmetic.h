// + - * / // % ** ~ of Python.
#pragma once

#include <vector>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

enum class Operator { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };

std::string_view sign_of(Operator operation);
// Errors: types that do not go together, division by zero, whole numbers beyond 64 bits.
Value calculate(Runtime& runtime, Operator operation, const Value& left, const Value& right);
Value negated(Runtime& runtime, const Value& value);
// Jinja's ~: all as texts, one after another.
Value concatenated(Runtime& runtime, const std::vector<Value>& parts);
// What safe text takes in: `value` escaped for HTML unless it is escaped already.
std::string escaped_for_html(Runtime& runtime, const Value& value);

}  // namespace hftrain::chat

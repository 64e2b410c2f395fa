#include <cmath>

#include "hftrain/base/python_number.h"
#include "hftrain/chat/arguments.h"
#include "hftrain/chat/arithmetic.h"
#include "hftrain/chat/filters.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/numbers.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/chat/text_layout.h"

namespace hftrain::chat {
namespace {

constexpr int64_t kMostDecimals = 150;

void refuse_undefined_number(Runtime& runtime, const Value& value) {
  if (const auto* undefined = value.get<Undefined>()) runtime.fail(reason_of(*undefined));
}

Value abs_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "abs", arguments, {});
  refuse_undefined_number(runtime, value);
  if (const auto integer = value.as_integer())
    return *integer < 0 ? negated(runtime, value) : Value(*integer);
  if (const auto number = value.as_number()) return Value(std::abs(*number));
  runtime.fail("bad operand type for abs(): '" + type_name(value) + "'");
}

// int(float(value)), which is what the filter falls back to.
std::optional<int64_t> by_float(Runtime& runtime, const Value& value) {
  const Text* text = value.as_text();
  const auto number = text != nullptr ? read_float(text->bytes) : value.as_number();
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return truncated(runtime, *number);
}

Value int_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "int", arguments, {"default", "base"});
  refuse_undefined_number(runtime, value);
  if (const Text* text = value.as_text()) {
    runtime.read(text->bytes.size());
    const int64_t base = bound.integer(1, 10);
    const bool base_is_valid = base == 0 || (base >= 2 && base <= 36);
    const auto integer = base_is_valid ? read_integer(runtime, text->bytes, base) : std::nullopt;
    if (integer) return Value(*integer);
  } else if (const auto* number = value.get<double>(); number != nullptr && !std::isnan(*number)) {
    return Value(truncated(runtime, *number));
  } else if (const auto integer = value.as_integer()) {
    return Value(*integer);
  }
  if (const auto integer = by_float(runtime, value)) return Value(*integer);
  return bound.get(0) != nullptr ? *bound.get(0) : Value(int64_t{0});
}

Value float_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "float", arguments, {"default"});
  refuse_undefined_number(runtime, value);
  const Text* text = value.as_text();
  const auto number = text != nullptr ? read_float(text->bytes) : value.as_number();
  if (number) return Value(*number);
  return bound.get(0) != nullptr ? *bound.get(0) : Value(0.0);
}

// round(value, digits) of Python: whole numbers stay whole.
Value rounded(Runtime& runtime, const Value& value, int64_t digits) {
  const auto integer = value.as_integer();
  if (integer && digits >= 0) return Value(*integer);
  if (digits > kMostDecimals || digits < -18) {
    if (integer) return Value(int64_t{0});
    return digits > 0 ? Value(*value.as_number()) : Value(std::copysign(0.0, *value.as_number()));
  }
  if (digits >= 0) return Value(python_round(*value.as_number(), static_cast<int>(digits)));
  const auto unit = static_cast<int64_t>(std::pow(10, -digits));
  if (!integer)
    return Value(std::nearbyint(*value.as_number() / static_cast<double>(unit)) * static_cast<double>(unit));
  const __int128 half = unit / 2, number = *integer;
  __int128 quotient = number / unit, rest = number % unit;
  if (rest < 0) rest += unit, --quotient;
  if (rest > half || (rest == half && quotient % 2 != 0)) ++quotient;
  if (quotient * unit > INT64_MAX || quotient * unit < INT64_MIN)
    runtime.outside("whole numbers of more than 64 bits");
  return Value(static_cast<int64_t>(quotient * unit));
}

Value round_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "round", arguments, {"precision", "method"});
  refuse_undefined_number(runtime, value);
  const std::string_view method = bound.text(1, "common");
  if (method != "common" && method != "ceil" && method != "floor") {
    runtime.fail("method must be common, ceil or floor");
  }
  const auto number = value.as_number();
  if (!number) runtime.fail("type " + type_name(value) + " doesn't define __round__ method");
  const int64_t precision = bound.integer(0, 0);
  if (method == "common") return rounded(runtime, value, precision);
  const Value scale = calculate(runtime, Operator::kPower, Value(int64_t{10}), Value(precision));
  const Value scaled = calculate(runtime, Operator::kMultiply, value, scale);
  const double moved = method == "ceil" ? std::ceil(*scaled.as_number()) : std::floor(*scaled.as_number());
  return calculate(runtime, Operator::kDivide, Value(truncated(runtime, moved)), scale);
}

Value sum_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "sum", arguments, {"attribute", "start"});
  Value total = bound.get(1) != nullptr ? *bound.get(1) : Value(int64_t{0});
  if (total.as_text() != nullptr) runtime.fail("sum() can't sum strings [use ''.join(seq) instead]");
  const AttributePath path(runtime, bound.get(0));
  const IteratorPtr items = iterate(runtime, value);
  while (const auto item = items->next()) total = calculate(runtime, Operator::kAdd, total, path.of(*item));
  return total;
}

Value file_size_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "filesizeformat", arguments, {"binary"});
  const Text* text = value.as_text();
  const auto bytes = text != nullptr ? read_float(text->bytes) : value.as_number();
  if (!bytes || !std::isfinite(*bytes))
    runtime.fail("filesizeformat() takes a number, not a " + type_name(value));
  return runtime.text(file_size(*bytes, bound.truth(0, false)));
}

constexpr NamedFilter kNumberFilters[] = {{"abs", abs_filter},     {"filesizeformat", file_size_filter},
                                          {"float", float_filter}, {"int", int_filter},
                                          {"round", round_filter}, {"sum", sum_filter}};

}  // namespace

std::span<const NamedFilter> number_filters() {
  return kNumberFilters;
}

}  // namespace hftrain::chat

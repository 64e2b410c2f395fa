#include "hftrain/chat/arithmetic.h"

#include <cmath>

#include "hftrain/chat/format.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/printing.h"
#include "hftrain/chat/runtime.h"

namespace hftrain::chat {
namespace {

int64_t checked(Runtime& runtime, bool overflow, int64_t result) {
  if (overflow) runtime.outside("whole numbers of more than 64 bits");
  return result;
}

int64_t floor_divided(Runtime& runtime, int64_t left, int64_t right) {
  if (right == 0) runtime.fail("integer division or modulo by zero");
  if (right == -1) return checked(runtime, left == INT64_MIN, left == INT64_MIN ? 0 : -left);
  const int64_t quotient = left / right;
  return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

int64_t power(Runtime& runtime, int64_t base, int64_t exponent) {
  int64_t result = 1;
  bool overflow = false;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) overflow = __builtin_mul_overflow(result, base, &result) || overflow;
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) return checked(runtime, true, 0);
  }
  return checked(runtime, overflow, result);
}

Value divided(Runtime& runtime, double left, double right) {
  if (right == 0) runtime.fail("division by zero");
  return Value(left / right);
}

Value of_integers(Runtime& runtime, Operator operation, int64_t left, int64_t right) {
  int64_t result = 0;
  bool overflow = false;
  switch (operation) {
    case Operator::kAdd:
      overflow = __builtin_add_overflow(left, right, &result);
      break;
    case Operator::kSubtract:
      overflow = __builtin_sub_overflow(left, right, &result);
      break;
    case Operator::kMultiply:
      overflow = __builtin_mul_overflow(left, right, &result);
      break;
    case Operator::kDivide:
      return divided(runtime, static_cast<double>(left), static_cast<double>(right));
    case Operator::kFloorDivide:
      return Value(floor_divided(runtime, left, right));
    case Operator::kModulo:
      if (right == -1) return Value(int64_t{0});
      return Value(left - floor_divided(runtime, left, right) * right);
    case Operator::kPower:
      if (right >= 0) return Value(power(runtime, left, right));
      if (left == 0) runtime.fail("0.0 cannot be raised to a negative power");
      return Value(std::pow(static_cast<double>(left), static_cast<double>(right)));
  }
  return Value(checked(runtime, overflow, result));
}

double modulo(Runtime& runtime, double left, double right) {
  if (right == 0) runtime.fail("float modulo");
  double rest = std::fmod(left, right);
  if (rest != 0 && (rest < 0) != (right < 0)) rest += right;
  return rest == 0 ? std::copysign(0.0, right) : rest;
}

double raised(Runtime& runtime, double left, double right) {
  if (left == 0 && right < 0) runtime.fail("0.0 cannot be raised to a negative power");
  if (left < 0 && std::isfinite(right) && std::nearbyint(right) != right) runtime.outside("complex numbers");
  const double result = std::pow(left, right);
  if (std::isinf(result) && std::isfinite(left) && std::isfinite(right))
    runtime.fail("numerical result out of range");
  return result;
}

// Of floats, from the exact remainder as in Python.
double floor_divided(Runtime& runtime, double left, double right) {
  if (right == 0) runtime.fail("float floor division by zero");
  const double whole = (left - modulo(runtime, left, right)) / right;
  if (whole == 0) return std::copysign(0.0, left / right);
  const double floored = std::floor(whole);
  return whole - floored > 0.5 ? floored + 1 : floored;
}

Value of_numbers(Runtime& runtime, Operator operation, double left, double right) {
  switch (operation) {
    case Operator::kAdd:
      return Value(left + right);
    case Operator::kSubtract:
      return Value(left - right);
    case Operator::kMultiply:
      return Value(left * right);
    case Operator::kDivide:
      return divided(runtime, left, right);
    case Operator::kFloorDivide:
      return Value(floor_divided(runtime, left, right));
    case Operator::kModulo:
      return Value(modulo(runtime, left, right));
    case Operator::kPower:
      return Value(raised(runtime, left, right));
  }
  return Value();
}

Value joined(Runtime& runtime, const Text& left, const Text& right) {
  runtime.expect(left.bytes.size() + right.bytes.size());
  if (!left.escaped && !right.escaped) return runtime.text(left.bytes + right.bytes);
  const auto safe = [&](const Text& text) {
    return text.escaped ? text.bytes : escaped_for_html(runtime, runtime.text(text.bytes));
  };
  return runtime.text(safe(left) + safe(right), true);
}

Value joined(Runtime& runtime, const Sequence& left, const Sequence& right) {
  runtime.expect(left.items.size() + right.items.size(), sizeof(Value));
  std::vector<Value> items = left.items;
  items.insert(items.end(), right.items.begin(), right.items.end());
  return left.is_tuple ? runtime.tuple(std::move(items)) : runtime.list(std::move(items));
}

// 'x' * 3 and [x] * 3; nothing where `value` is neither text nor list.
std::optional<Value> repeated(Runtime& runtime, const Value& value, int64_t times) {
  const auto count = static_cast<uint64_t>(std::max<int64_t>(times, 0));
  if (const Text* text = value.as_text()) {
    if (!text->bytes.empty()) runtime.expect(count, text->bytes.size());
    std::string made;
    if (!text->bytes.empty()) made.reserve(text->bytes.size() * count);
    for (uint64_t i = 0; i < count && !text->bytes.empty(); ++i) made += text->bytes;
    return runtime.text(std::move(made), text->escaped);
  }
  const Sequence* sequence = value.as_sequence();
  if (sequence == nullptr) return std::nullopt;
  std::vector<Value> items;
  if (!sequence->items.empty()) runtime.expect(count, sequence->items.size() * sizeof(Value));
  for (uint64_t i = 0; i < count && !sequence->items.empty(); ++i) {
    items.insert(items.end(), sequence->items.begin(), sequence->items.end());
  }
  return sequence->is_tuple ? runtime.tuple(std::move(items)) : runtime.list(std::move(items));
}

// What is no calculation with numbers; nothing where the types do not go together.
std::optional<Value> of_others(Runtime& runtime, Operator operation, const Value& left, const Value& right) {
  if (operation == Operator::kModulo && left.as_text() != nullptr) {
    return percent_formatted(runtime, *left.as_text(), right);
  }
  if (operation == Operator::kMultiply) {
    if (const auto times = right.as_integer()) return repeated(runtime, left, *times);
    if (const auto times = left.as_integer()) return repeated(runtime, right, *times);
  }
  if (operation != Operator::kAdd) return std::nullopt;
  if (left.as_text() != nullptr && right.as_text() != nullptr) {
    return joined(runtime, *left.as_text(), *right.as_text());
  }
  const Sequence *first = left.as_sequence(), *second = right.as_sequence();
  if (first == nullptr || second == nullptr || first->is_tuple != second->is_tuple) return std::nullopt;
  return joined(runtime, *first, *second);
}

}  // namespace

std::string_view sign_of(Operator operation) {
  constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};
  return kSigns[static_cast<int>(operation)];
}

Value calculate(Runtime& runtime, Operator operation, const Value& left, const Value& right) {
  if (operation != Operator::kModulo || left.as_text() == nullptr) {
    for (const Value* side : {&left, &right}) {
      if (const auto* undefined = side->get<Undefined>()) runtime.fail(reason_of(*undefined));
    }
  }
  const auto first = left.as_integer(), second = right.as_integer();
  if (first && second) return of_integers(runtime, operation, *first, *second);
  if (left.as_number() && right.as_number()) {
    return of_numbers(runtime, operation, *left.as_number(), *right.as_number());
  }
  if (auto made = of_others(runtime, operation, left, right)) return std::move(*made);
  if (operation == Operator::kAdd && left.as_text() != nullptr) {
    runtime.fail("can only concatenate str (not \"" + type_name(right) + "\") to str");
  }
  runtime.fail("unsupported operand type(s) for " + std::string(sign_of(operation)) + ": '" +
               type_name(left) + "' and '" + type_name(right) + "'");
}

Value negated(Runtime& runtime, const Value& value) {
  if (const auto* undefined = value.get<Undefined>()) runtime.fail(reason_of(*undefined));
  if (const auto integer = value.as_integer()) {
    return Value(checked(runtime, *integer == INT64_MIN, *integer == INT64_MIN ? 0 : -*integer));
  }
  if (const auto number = value.as_number()) return Value(-*number);
  runtime.fail("bad operand type for unary -: '" + type_name(value) + "'");
}

Value concatenated(Runtime& runtime, const std::vector<Value>& parts) {
  std::string made;
  for (const Value& part : parts) {
    const Text* text = part.as_text();
    runtime.expect_held(made.size() + (text == nullptr ? 0 : text->bytes.size()));
    made += text == nullptr ? printed(runtime, part) : text->bytes;
  }
  return runtime.text(std::move(made));
}

std::string escaped_for_html(Runtime& runtime, const Value& value) {
  const Text* text = value.as_text();
  const std::string plain = printed(runtime, value);
  if (text != nullptr && text->escaped) return plain;
  runtime.expect(plain.size(), 5);
  std::string made;
  for (const char c : plain) {
    switch (c) {
      case '&':
        made += "&amp;";
        break;
      case '<':
        made += "&lt;";
        break;
      case '>':
        made += "&gt;";
        break;
      case '\'':
        made += "&#39;";
        break;
      case '"':
        made += "&#34;";
        break;
      default:
        made += c;
    }
  }
  return made;
}

}  // namespace hftrain::chat

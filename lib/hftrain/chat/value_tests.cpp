#include "hftrain/chat/value_tests.h"

#include <unordered_map>

#include "hftrain/chat/arguments.h"
#include "hftrain/chat/arithmetic.h"
#include "hftrain/chat/comparison.h"
#include "hftrain/chat/filters.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/printing.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/chat/text_cases.h"

namespace hftrain::chat {
namespace {

using TestFunction = bool (*)(Runtime&, const Value&, const Value* other);

bool rest_is(Runtime& runtime, const Value& value, int64_t divisor, int64_t rest) {
  const Value left = calculate(runtime, Operator::kModulo, value, Value(divisor));
  return equal(runtime, left, Value(rest));
}

bool is_divisible(Runtime& runtime, const Value& value, const Value* other) {
  return equal(runtime, calculate(runtime, Operator::kModulo, value, *other), Value(int64_t{0}));
}

bool is_callable_value(const Value& value) {
  const auto* object = value.get<ObjectPtr>();
  return value.is<Undefined>() || (object != nullptr && (*object)->is_callable());
}

// `is`: the very same object. Python's small whole numbers are.
bool is_same(Runtime& runtime, const Value& value, const Value& other) {
  if (value.held().index() != other.held().index()) return false;
  if (value.is<None>()) return true;
  if (const auto* boolean = value.get<bool>()) return *boolean == *other.get<bool>();
  if (const auto* integer = value.get<int64_t>()) {
    if (*integer < -5 || *integer > 256) runtime.outside("'sameas' between large numbers");
    return *integer == *other.get<int64_t>();
  }
  if (const auto* sequence = value.get<SequencePtr>()) return *sequence == *other.get<SequencePtr>();
  if (const auto* dict = value.get<DictPtr>()) return *dict == *other.get<DictPtr>();
  if (const auto* object = value.get<ObjectPtr>()) return *object == *other.get<ObjectPtr>();
  runtime.outside("'sameas' between values of type " + type_name(value));
}

template <size_t kQuality>
bool text_has(Runtime& runtime, const Value& value, const Value*) {
  const std::string text = printed(runtime, value);
  runtime.step(text.size() / 8);
  return has_quality(kQuality, text);
}

bool is_sequence(Runtime& runtime, const Value& value, const Value*) {
  return !value.is<ViewPtr>() && !value.is<ObjectPtr>() && length_of(runtime, value).has_value();
}

bool names(Runtime& runtime, const Value& value, bool (*is)(std::string_view)) {
  if (value.as_text() == nullptr) runtime.fail("a name is a text, not a " + type_name(value));
  return is(value.as_text()->bytes);
}

bool is_filter_name(std::string_view name) {
  return find_filter(name) != nullptr || is_foreign_filter(name);
}

bool is_equal(Runtime& runtime, const Value& value, const Value* other) {
  return equal(runtime, value, *other);
}

bool is_unequal(Runtime& runtime, const Value& value, const Value* other) {
  return !equal(runtime, value, *other);
}

bool is_less(Runtime& runtime, const Value& value, const Value* other) {
  return less(runtime, value, *other, "<");
}

bool is_greater(Runtime& runtime, const Value& value, const Value* other) {
  return less(runtime, *other, value, ">");
}

bool is_at_most(Runtime& runtime, const Value& value, const Value* other) {
  return less_or_equal(runtime, value, *other, "<=");
}

bool is_at_least(Runtime& runtime, const Value& value, const Value* other) {
  return less_or_equal(runtime, *other, value, ">=");
}

template <typename T>
bool holds(Runtime&, const Value& value, const Value*) {
  return value.is<T>();
}

template <bool kValue>
bool is_boolean(Runtime&, const Value& value, const Value*) {
  return value.is<bool>() && *value.get<bool>() == kValue;
}

bool is_defined(Runtime&, const Value& value, const Value*) {
  return !value.is<Undefined>();
}

bool is_number(Runtime&, const Value& value, const Value*) {
  return value.as_number().has_value();
}

bool is_iterable_value(Runtime&, const Value& value, const Value*) {
  return is_iterable(value);
}

bool is_escaped(Runtime&, const Value& value, const Value*) {
  return value.as_text() != nullptr && value.as_text()->escaped;
}

bool is_contained(Runtime& runtime, const Value& value, const Value* other) {
  return contains(runtime, *other, value);
}

bool is_odd(Runtime& runtime, const Value& value, const Value*) {
  return rest_is(runtime, value, 2, 1);
}

bool is_even(Runtime& runtime, const Value& value, const Value*) {
  return rest_is(runtime, value, 2, 0);
}

struct NamedTest {
  TestFunction function;
  bool has_argument = false;
};

const std::unordered_map<std::string_view, NamedTest>& test_map() {
  static const std::unordered_map<std::string_view, NamedTest> kMap = {
      {"!=", {is_unequal, true}},
      {"<", {is_less, true}},
      {"<=", {is_at_most, true}},
      {"==", {is_equal, true}},
      {">", {is_greater, true}},
      {">=", {is_at_least, true}},
      {"boolean", {holds<bool>}},
      {"callable", {[](Runtime&, const Value& value, const Value*) { return is_callable_value(value); }}},
      {"defined", {is_defined}},
      {"divisibleby", {is_divisible, true}},
      {"eq", {is_equal, true}},
      {"equalto", {is_equal, true}},
      {"escaped", {is_escaped}},
      {"even", {is_even}},
      {"false", {is_boolean<false>}},
      {"filter", {[](Runtime& runtime, const Value& value, const Value*) {
         return names(runtime, value, is_filter_name);
       }}},
      {"float", {holds<double>}},
      {"ge", {is_at_least, true}},
      {"greaterthan", {is_greater, true}},
      {"gt", {is_greater, true}},
      {"in", {is_contained, true}},
      {"integer", {holds<int64_t>}},
      {"iterable", {is_iterable_value}},
      {"le", {is_at_most, true}},
      {"lessthan", {is_less, true}},
      {"lower", {text_has<6>}},
      {"lt", {is_less, true}},
      {"mapping", {holds<DictPtr>}},
      {"ne", {is_unequal, true}},
      {"none", {holds<None>}},
      {"number", {is_number}},
      {"odd", {is_odd}},
      {"sameas",
       {[](Runtime& runtime, const Value& value, const Value* other) {
          return is_same(runtime, value, *other);
        },
        true}},
      {"sequence", {is_sequence}},
      {"string", {holds<TextPtr>}},
      {"test",
       {[](Runtime& runtime, const Value& value, const Value*) { return names(runtime, value, is_test); }}},
      {"true", {is_boolean<true>}},
      {"undefined", {holds<Undefined>}},
      {"upper", {text_has<11>}}};
  return kMap;
}

}  // namespace

bool is_test(std::string_view name) {
  return test_map().contains(name);
}

bool apply_test(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments) {
  const auto found = test_map().find(name);
  if (found == test_map().end()) runtime.fail("No test named '" + std::string(name) + "'.");
  const auto [function, has_argument] = found->second;
  if (!has_argument) {
    const BoundArguments bound(runtime, name, arguments, {});
    return function(runtime, value, nullptr);
  }
  const BoundArguments bound(runtime, name, arguments, {"other"}, 1);
  return function(runtime, value, bound.get(0));
}

}  // namespace hftrain::chat

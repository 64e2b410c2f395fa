#include "hftrain/chat/expressions.h"

#include <algorithm>

#include "hftrain/chat/comparison.h"
#include "hftrain/chat/filters.h"
#include "hftrain/chat/item_access.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/renderer.h"
#include "hftrain/chat/value_tests.h"

namespace hftrain::chat {
namespace {

std::vector<Value> evaluated(Renderer& renderer, const std::vector<ExpressionPtr>& expressions) {
  std::vector<Value> values;
  values.reserve(expressions.size());
  for (const ExpressionPtr& expression : expressions) values.push_back(renderer.evaluate(*expression));
  return values;
}

bool holds_between(Runtime& runtime, const std::string& sign, const Value& left, const Value& right) {
  if (sign == "==") return equal(runtime, left, right);
  if (sign == "!=") return !equal(runtime, left, right);
  if (sign == "<") return less(runtime, left, right, sign);
  if (sign == ">") return less(runtime, right, left, sign);
  if (sign == "<=") return less_or_equal(runtime, left, right, sign);
  if (sign == ">=") return less_or_equal(runtime, right, left, sign);
  return contains(runtime, right, left) == (sign == "in");
}

// Python takes names only once.
void add_named(Runtime& runtime, Arguments& arguments, std::string name, Value value) {
  const bool twice =
      std::ranges::any_of(arguments.named, [&](const auto& given) { return given.first == name; });
  if (twice) runtime.fail("the argument '" + name + "' is given twice");
  arguments.named.emplace_back(std::move(name), std::move(value));
}

}  // namespace

Arguments CallArguments::evaluate(Renderer& renderer) const {
  Runtime& runtime = renderer.runtime;
  Arguments made{.positional = evaluated(renderer, positional)};
  for (const auto& [name, expression] : named) add_named(runtime, made, name, renderer.evaluate(*expression));
  if (rest != nullptr) {
    const std::vector<Value> more = items_of(runtime, renderer.evaluate(*rest));
    made.positional.insert(made.positional.end(), more.begin(), more.end());
  }
  if (named_rest == nullptr) return made;
  const Value more = renderer.evaluate(*named_rest);
  if (more.as_dict() == nullptr) runtime.fail("argument after ** must be a mapping, not " + type_name(more));
  for (const auto& [key, value] : more.as_dict()->items()) {
    if (key.as_text() == nullptr) runtime.fail("keywords must be strings");
    add_named(runtime, made, key.as_text()->bytes, value);
  }
  return made;
}

size_t CallArguments::depth() const {
  size_t deepest = 0;
  for (const ExpressionPtr& expression : positional) deepest = std::max(deepest, expression->depth);
  for (const auto& [name, expression] : named) deepest = std::max(deepest, expression->depth);
  for (const Expression* expression : {rest.get(), named_rest.get()}) {
    if (expression != nullptr) deepest = std::max(deepest, expression->depth);
  }
  return deepest;
}

Value Name::value(Renderer& renderer) const {
  return renderer.look_up(name);
}

Value ListLiteral::value(Renderer& renderer) const {
  std::vector<Value> values = evaluated(renderer, items);
  return is_tuple ? renderer.runtime.tuple(std::move(values)) : renderer.runtime.list(std::move(values));
}

Value DictLiteral::value(Renderer& renderer) const {
  Dict dict;
  for (const auto& [key, held] : pairs) {
    Value name = renderer.evaluate(*key), item = renderer.evaluate(*held);
    renderer.runtime.place = place;
    dict.set(renderer.runtime, std::move(name), std::move(item));
  }
  return renderer.runtime.dict(std::move(dict));
}

Value Unary::value(Renderer& renderer) const {
  const Value held = renderer.evaluate(*operand);
  renderer.runtime.place = place;
  if (sign == Sign::kNot) return Value(!is_true(renderer.runtime, held));
  const Value opposite = negated(renderer.runtime, held);
  if (sign == Sign::kMinus) return opposite;
  return held.is<bool>() ? Value(*held.as_integer()) : held;
}

Value Binary::value(Renderer& renderer) const {
  const Value first = renderer.evaluate(*left), second = renderer.evaluate(*right);
  renderer.runtime.place = place;
  return calculate(renderer.runtime, operation, first, second);
}

Value Logic::value(Renderer& renderer) const {
  Value first = renderer.evaluate(*left);
  return is_true(renderer.runtime, first) == is_and ? renderer.evaluate(*right) : std::move(first);
}

Value Comparison::value(Renderer& renderer) const {
  Value left = renderer.evaluate(*first);
  for (const auto& [sign, expression] : steps) {
    Value right = renderer.evaluate(*expression);
    renderer.runtime.place = place;
    if (!holds_between(renderer.runtime, sign, left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Concatenation::value(Renderer& renderer) const {
  const std::vector<Value> values = evaluated(renderer, parts);
  renderer.runtime.place = place;
  return concatenated(renderer.runtime, values);
}

Value Conditional::value(Renderer& renderer) const {
  if (is_true(renderer.runtime, renderer.evaluate(*test))) return renderer.evaluate(*then);
  if (otherwise != nullptr) return renderer.evaluate(*otherwise);
  return Value(Undefined{std::make_shared<const std::string>(
      "the inline if-expression at " + where_of(renderer.runtime.origin, place) +
      " evaluated to false and no else section was defined.")});
}

Value Member::value(Renderer& renderer) const {
  const Value held = renderer.evaluate(*owner);
  renderer.runtime.place = place;
  return member_of(renderer.runtime, held, name);
}

Value Item::value(Renderer& renderer) const {
  const Value held = renderer.evaluate(*owner), wanted = renderer.evaluate(*key);
  renderer.runtime.place = place;
  return item_of(renderer.runtime, held, wanted);
}

Value Slice::value(Renderer& renderer) const {
  const Value held = renderer.evaluate(*owner);
  std::vector<Value> bounds;
  for (const Expression* bound : {start.get(), stop.get(), step.get()}) {
    bounds.push_back(bound == nullptr ? Value(None()) : renderer.evaluate(*bound));
  }
  renderer.runtime.place = place;
  return slice_of(renderer.runtime, held, &bounds[0], &bounds[1], &bounds[2]);
}

Value Call::value_with(Renderer& renderer, const Value* caller) const {
  const Value function = renderer.evaluate(*callee);
  Arguments given = arguments.evaluate(renderer);
  if (caller != nullptr) add_named(renderer.runtime, given, "caller", *caller);
  renderer.runtime.place = place;
  return call_value(renderer.runtime, function, given);
}

Value FilterStep::apply(Renderer& renderer, const Value& value) const {
  const Arguments given = arguments.evaluate(renderer);
  renderer.runtime.place = place;
  return apply_filter(renderer.runtime, name, value, given);
}

Value Filtered::value(Renderer& renderer) const {
  return step.apply(renderer, renderer.evaluate(*subject));
}

Value Tested::value(Renderer& renderer) const {
  const Value held = renderer.evaluate(*subject);
  const Arguments given = arguments.evaluate(renderer);
  renderer.runtime.place = place;
  return Value(apply_test(renderer.runtime, name, held, given));
}

}  // namespace hftrain::chat

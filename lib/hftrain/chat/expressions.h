// The expressions of a template. Each evaluates itself; Renderer::evaluate counts steps and depth.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hftrain/chat/arithmetic.h"
#include "hftrain/chat/runtime.h"

namespace hftrain::chat {

class Renderer;

struct Expression {
  explicit Expression(Place place_) : place(place_) {}
  virtual ~Expression() = default;
  virtual Value value(Renderer& renderer) const = 0;
  Place place;
  size_t depth = 1;  // expressions in each other, this one among them
};
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr rest, named_rest;  // *rest, **named_rest; null where there is none

  Arguments evaluate(Renderer& renderer) const;
  size_t depth() const;
};

struct Constant : Expression {
  Constant(Place at, Value held_) : Expression(at), held(std::move(held_)) {}
  Value value(Renderer&) const override { return held; }
  Value held;
};

struct Name : Expression {
  Name(Place at, std::string name_) : Expression(at), name(std::move(name_)) {}
  Value value(Renderer& renderer) const override;
  std::string name;
};

struct ListLiteral : Expression {
  ListLiteral(Place at, std::vector<ExpressionPtr> items_, bool is_tuple_)
      : Expression(at), items(std::move(items_)), is_tuple(is_tuple_) {}
  Value value(Renderer& renderer) const override;
  std::vector<ExpressionPtr> items;
  bool is_tuple;
};

struct DictLiteral : Expression {
  using Pair = std::pair<ExpressionPtr, ExpressionPtr>;
  DictLiteral(Place at, std::vector<Pair> pairs_) : Expression(at), pairs(std::move(pairs_)) {}
  Value value(Renderer& renderer) const override;
  std::vector<Pair> pairs;
};

enum class Sign { kNot, kMinus, kPlus };
struct Unary : Expression {
  Unary(Place at, Sign sign_, ExpressionPtr operand_)
      : Expression(at), sign(sign_), operand(std::move(operand_)) {}
  Value value(Renderer& renderer) const override;
  Sign sign;
  ExpressionPtr operand;
};

struct Binary : Expression {
  Binary(Place at, Operator operation_, ExpressionPtr left_, ExpressionPtr right_)
      : Expression(at), operation(operation_), left(std::move(left_)), right(std::move(right_)) {}
  Value value(Renderer& renderer) const override;
  Operator operation;
  ExpressionPtr left, right;
};

// `and`, `or`: one of the operands.
struct Logic : Expression {
  Logic(Place at, bool is_and_, ExpressionPtr left_, ExpressionPtr right_)
      : Expression(at), is_and(is_and_), left(std::move(left_)), right(std::move(right_)) {}
  Value value(Renderer& renderer) const override;
  bool is_and;
  ExpressionPtr left, right;
};

// a < b <= c not in d
struct Comparison : Expression {
  using Step = std::pair<std::string, ExpressionPtr>;  // "==", "in", "not in", …
  Comparison(Place at, ExpressionPtr first_, std::vector<Step> steps_)
      : Expression(at), first(std::move(first_)), steps(std::move(steps_)) {}
  Value value(Renderer& renderer) const override;
  ExpressionPtr first;
  std::vector<Step> steps;
};

struct Concatenation : Expression {
  Concatenation(Place at, std::vector<ExpressionPtr> parts_) : Expression(at), parts(std::move(parts_)) {}
  Value value(Renderer& renderer) const override;
  std::vector<ExpressionPtr> parts;
};

// a if test else b; undefined without else.
struct Conditional : Expression {
  Conditional(Place at, ExpressionPtr test_, ExpressionPtr then_, ExpressionPtr otherwise_)
      : Expression(at), test(std::move(test_)), then(std::move(then_)), otherwise(std::move(otherwise_)) {}
  Value value(Renderer& renderer) const override;
  ExpressionPtr test, then, otherwise;
};

struct Member : Expression {
  Member(Place at, ExpressionPtr owner_, std::string name_)
      : Expression(at), owner(std::move(owner_)), name(std::move(name_)) {}
  Value value(Renderer& renderer) const override;
  ExpressionPtr owner;
  std::string name;
};

struct Item : Expression {
  Item(Place at, ExpressionPtr owner_, ExpressionPtr key_)
      : Expression(at), owner(std::move(owner_)), key(std::move(key_)) {}
  Value value(Renderer& renderer) const override;
  ExpressionPtr owner, key;
};

struct Slice : Expression {
  Slice(Place at, ExpressionPtr owner_, ExpressionPtr start_, ExpressionPtr stop_, ExpressionPtr step_)
      : Expression(at),
        owner(std::move(owner_)),
        start(std::move(start_)),
        stop(std::move(stop_)),
        step(std::move(step_)) {}
  Value value(Renderer& renderer) const override;
  ExpressionPtr owner, start, stop, step;  // null where left out
};

struct Call : Expression {
  Call(Place at, ExpressionPtr callee_, CallArguments arguments_)
      : Expression(at), callee(std::move(callee_)), arguments(std::move(arguments_)) {}
  Value value(Renderer& renderer) const override { return value_with(renderer, nullptr); }
  // `caller`, where it is given, is one more argument of that name.
  Value value_with(Renderer& renderer, const Value* caller) const;
  ExpressionPtr callee;
  CallArguments arguments;
};

// One filter, without what it is applied to.
struct FilterStep {
  Place place;
  std::string name;
  CallArguments arguments;
  Value apply(Renderer& renderer, const Value& value) const;
};

struct Filtered : Expression {
  Filtered(Place at, ExpressionPtr subject_, FilterStep step_)
      : Expression(at), subject(std::move(subject_)), step(std::move(step_)) {}
  Value value(Renderer& renderer) const override;
  ExpressionPtr subject;
  FilterStep step;
};

struct Tested : Expression {
  Tested(Place at, ExpressionPtr subject_, std::string name_, CallArguments arguments_)
      : Expression(at),
        subject(std::move(subject_)),
        name(std::move(name_)),
        arguments(std::move(arguments_)) {}
  Value value(Renderer& renderer) const override;
  ExpressionPtr subject;
  std::string name;
  CallArguments arguments;
};

}  // namespace hftrain::chat

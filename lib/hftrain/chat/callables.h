// Functions and the small objects that templates can make.
#pragma once

#include <functional>
#include <string>

#include "hftrain/chat/dict.h"
#include "hftrain/chat/value.h"

namespace hftrain::chat {

// What can be called: a global, a method bound to its value, the body of a call block.
class Function : public Object {
 public:
  using Body = std::function<Value(Runtime&, const Arguments&)>;
  Function(std::string_view type, Body body) : type_(type), body_(std::move(body)) {}

  std::string_view type_name() const override { return type_; }
  bool is_callable() const override { return true; }
  Value call(Runtime& runtime, const Arguments& arguments) override { return body_(runtime, arguments); }

 private:
  std::string_view type_;
  Body body_;
};

Value function(std::string_view type, Function::Body body);

// namespace(…): the one thing whose members a template can set.
class Namespace : public Object {
 public:
  std::string_view type_name() const override { return "Namespace"; }
  std::optional<Value> member(Runtime& runtime, std::string_view name) override;
  std::optional<std::string> printed(Runtime& runtime) override;
  void set(Runtime& runtime, std::string_view name, Value value);
  void clear() { members_ = Dict(); }

 private:
  Dict members_;
};

// cycler(…): its items by turns.
class Cycler : public Object {
 public:
  explicit Cycler(Value items) : items_(std::move(items)) {}
  std::string_view type_name() const override { return "Cycler"; }
  std::optional<Value> member(Runtime& runtime, std::string_view name) override;

 private:
  Value current() const { return items_.as_sequence()->items[at_]; }
  Value items_;
  size_t at_ = 0;
};

// joiner(separator): nothing at the first call, the separator at all others.
class Joiner : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  std::string_view type_name() const override { return "Joiner"; }
  bool is_callable() const override { return true; }
  Value call(Runtime& runtime, const Arguments& arguments) override;

 private:
  Value separator_;
  bool used_ = false;
};

}  // namespace hftrain::chat

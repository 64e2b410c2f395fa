#include "hftrain/chat/callables.h"

#include "hftrain/chat/arguments.h"
#include "hftrain/chat/printing.h"
#include "hftrain/chat/runtime.h"

namespace hftrain::chat {

Value function(std::string_view type, Function::Body body) {
  return Value(ObjectPtr(std::make_shared<Function>(type, std::move(body))));
}

std::optional<Value> Namespace::member(Runtime& runtime, std::string_view name) {
  runtime.step();
  const Value* found = members_.find(name);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

// Names are few, so that they are not counted: each takes a place in the template.
void Namespace::set(Runtime& runtime, std::string_view name, Value value) {
  members_.set(runtime, runtime.text(std::string(name)), std::move(value));
}

std::optional<std::string> Namespace::printed(Runtime& runtime) {
  for (const Dict::Item& item : members_.items()) {
    if (depth_of(item.second) > 0 || item.second.is<ObjectPtr>())
      runtime.outside("printing a namespace that holds others");
  }
  return "<Namespace " + repr(runtime, runtime.dict(members_.copy())) + ">";
}

std::optional<Value> Cycler::member(Runtime&, std::string_view name) {
  if (name == "current") return current();
  if (name == "next") {
    return function("method",
                    [this, self = shared_from_this()](Runtime& runtime, const Arguments& arguments) {
                      const BoundArguments bound(runtime, "next", arguments, {});
                      Value value = current();
                      at_ = (at_ + 1) % items_.as_sequence()->items.size();
                      return value;
                    });
  }
  if (name != "reset") return std::nullopt;
  return function("method", [this, self = shared_from_this()](Runtime& runtime, const Arguments& arguments) {
    const BoundArguments bound(runtime, "reset", arguments, {});
    at_ = 0;
    return Value(None());
  });
}

Value Joiner::call(Runtime& runtime, const Arguments& arguments) {
  const BoundArguments bound(runtime, "joiner", arguments, {});
  if (used_) return separator_;
  used_ = true;
  return runtime.text("");
}

}  // namespace hftrain::chat

#include "hftrain/chat/loop.h"

#include "hftrain/chat/arguments.h"
#include "hftrain/chat/callables.h"
#include "hftrain/chat/comparison.h"

namespace hftrain::chat {

std::optional<Value> Loop::advance() {
  std::optional<Value> next = peeked_ ? std::move(after_) : items_->next();
  peeked_ = false;
  after_.reset();
  if (!next) return std::nullopt;
  ++index_;
  before_ = std::move(current_);
  current_ = next;
  return next;
}

void Loop::finish() {
  items_ = std::make_shared<Iterator>(Iterator{[] { return std::optional<Value>(); }, 1, {}});
  again_ = nullptr;
}

const std::optional<Value>& Loop::peek() {
  if (!peeked_) after_ = items_->next();
  peeked_ = true;
  return after_;
}

// Of what has no length: all that is left is taken out and put back.
int64_t Loop::count() {
  if (length_) return *length_;
  auto rest = std::make_shared<std::vector<Value>>();
  const bool has_after = peeked_ && after_.has_value();
  while (!(peeked_ && !after_)) {
    auto item = items_->next();
    if (!item) break;
    rest->push_back(std::move(*item));
  }
  length_ = index_ + 1 + static_cast<int64_t>(rest->size()) + (has_after ? 1 : 0);
  items_ = std::make_shared<Iterator>(Iterator{[rest, i = size_t{0}]() mutable {
                                                 return i < rest->size() ? std::optional((*rest)[i++])
                                                                         : std::nullopt;
                                               },
                                               1,
                                               {}});
  return *length_;
}

std::optional<Value> Loop::neighbour(std::string_view name) {
  const auto missing = [](const char* why) {
    return Value(Undefined{std::make_shared<const std::string>(why)});
  };
  if (name == "previtem") return index_ == 0 ? missing("there is no previous item") : *before_;
  if (name == "nextitem") return peek() ? *peek() : missing("there is no next item");
  return std::nullopt;
}

std::optional<Value> Loop::method(std::string_view name) {
  if (name != "cycle" && name != "changed") return std::nullopt;
  return function("method", [this, self = shared_from_this(), cycles = name == "cycle"](
                                Runtime& runtime, const Arguments& arguments) {
    return cycles ? cycle(runtime, arguments) : changed(runtime, arguments);
  });
}

std::optional<Value> Loop::member(Runtime&, std::string_view name) {
  if (name == "index") return Value(index_ + 1);
  if (name == "index0") return Value(index_);
  if (name == "first") return Value(index_ == 0);
  if (name == "last") return Value(!peek().has_value());
  if (name == "length") return Value(count());
  if (name == "revindex") return Value(count() - index_);
  if (name == "revindex0") return Value(count() - index_ - 1);
  if (name == "depth") return Value(static_cast<int64_t>(depth_) + 1);
  if (name == "depth0") return Value(static_cast<int64_t>(depth_));
  if (auto item = neighbour(name)) return item;
  return method(name);
}

Value Loop::cycle(Runtime& runtime, const Arguments& arguments) const {
  if (arguments.positional.empty() || !arguments.named.empty()) runtime.fail("no items for cycling given");
  return arguments.positional[static_cast<size_t>(index_) % arguments.positional.size()];
}

Value Loop::changed(Runtime& runtime, const Arguments& arguments) {
  const Value now = runtime.tuple(arguments.positional);
  const bool other = !last_changed_ || !equal(runtime, *last_changed_, now);
  if (other) last_changed_ = now;
  return Value(other);
}

Value Loop::call(Runtime& runtime, const Arguments& arguments) {
  const BoundArguments bound(runtime, "loop", arguments, {"iterable"}, 1);
  if (again_ == nullptr) runtime.fail("The loop must have the 'recursive' marker to be called recursively.");
  return again_(*bound.get(0));
}

}  // namespace hftrain::chat

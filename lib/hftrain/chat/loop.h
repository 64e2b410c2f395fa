// The name `loop` in a for loop.
#pragma once

#include "hftrain/chat/renderer.h"

namespace hftrain::chat {

class Loop : public Object {
 public:
  // `length` is that of what is looped over, where it has one before it is run through. `again` renders the loop with other
  // items, where it is recursive.
  Loop(IteratorPtr items, std::optional<int64_t> length, size_t depth,
       std::function<Value(const Value&)> again)
      : items_(std::move(items)), length_(length), depth_(depth), again_(std::move(again)) {}

  // The next item, which becomes the current one.
  std::optional<Value> advance();

  // Lets go of the items and of what is around the loop, which may hold on to it.
  void finish();

  std::string_view type_name() const override { return "LoopContext"; }
  bool is_callable() const override { return true; }
  std::optional<Value> member(Runtime& runtime, std::string_view name) override;
  Value call(Runtime& runtime, const Arguments& arguments) override;
  std::optional<int64_t> length(Runtime&) override { return count(); }

 private:
  int64_t count();
  const std::optional<Value>& peek();
  Value cycle(Runtime& runtime, const Arguments& arguments) const;
  Value changed(Runtime& runtime, const Arguments& arguments);
  std::optional<Value> neighbour(std::string_view name);
  std::optional<Value> method(std::string_view name);

  IteratorPtr items_;
  std::optional<int64_t> length_;
  size_t depth_;
  std::function<Value(const Value&)> again_;
  int64_t index_ = -1;
  std::optional<Value> before_, current_, after_;
  bool peeked_ = false;
  std::optional<Value> last_changed_;
};

}  // namespace hftrain::chat

#include "hftrain/chat/runtime.h"

#include <algorithm>

#include "hftrain/base/text.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {

std::string where_of(const std::string& origin, Place place) {
  return origin + ':' + std::to_string(place.line) + ':' + std::to_string(place.column);
}

Error template_error(const std::string& origin, Place place, const std::string& why) {
  Error error(ExitCode::kData, "the chat template cannot be read");
  error.where(where_of(origin, place)).why(why);
  error.hint("correct the template, or name another one with --chat_template_path");
  return error;
}

Runtime::Runtime(const Limits& limits_, std::string origin_, const std::tm& now_)
    : now(now_),
      limits(limits_),
      origin(std::move(origin_)),
      budget_(limits_.bytes),
      steps_left_(limits_.steps) {}

Runtime::~Runtime() {
  for (const Kept& kept : kept_) kept.clear();
}

void Runtime::step(uint64_t count) {
  if (count >= steps_left_) {
    too_much("it takes more than " + with_thousands(static_cast<int64_t>(limits.steps)) + " steps");
  }
  steps_left_ -= count;
}

Charge Runtime::charge(uint64_t bytes) {
  step(bytes / 64);
  expect_held(bytes);
  budget_.take(bytes);
  return Charge(budget_, bytes);
}

void Runtime::expect_held(uint64_t bytes) const {
  if (bytes > budget_.free()) {
    too_much("it needs more than the " + format_bytes(limits.bytes) + " that a template may hold");
  }
}

void Runtime::expect(uint64_t count, uint64_t bytes_each) {
  expect_held(count > limits.bytes / bytes_each ? limits.bytes + 1 : count * bytes_each);
  step(count * bytes_each / 64);
}

Value Runtime::text(std::string bytes, bool escaped) {
  Charge taken = charge(bytes.size() + sizeof(Text) + 16);
  const auto length = static_cast<int64_t>(tokenizer::unicode::count(bytes));
  return Value(std::make_shared<const Text>(Text{std::move(bytes), length, escaped, std::move(taken)}));
}

void Runtime::check_depth(size_t depth) const {
  if (depth > kDeepestValue) {
    too_much("lists, dicts or filters stand in each other more than " + std::to_string(kDeepestValue) +
             " deep");
  }
}

Value Runtime::sequence(std::vector<Value> items, bool is_tuple, bool is_group) {
  Charge taken = charge(items.size() * sizeof(Value) + sizeof(Sequence) + 16);
  size_t depth = 0;
  for (const Value& item : items) depth = std::max(depth, depth_of(item));
  check_depth(depth + 1);
  return Value(std::make_shared<const Sequence>(
      Sequence{std::move(items), is_tuple, is_group, depth + 1, std::move(taken)}));
}

Value Runtime::list(std::vector<Value> items) {
  return sequence(std::move(items), false, false);
}

Value Runtime::tuple(std::vector<Value> items, bool is_group) {
  return sequence(std::move(items), true, is_group);
}

Value Runtime::dict(Dict dict) {
  constexpr uint64_t kBytesOfItem = sizeof(Dict::Item) + 48;
  check_depth(dict.depth());
  dict.keep(charge(dict.size() * kBytesOfItem + sizeof(Dict)));
  return Value(std::make_shared<const Dict>(std::move(dict)));
}

Value Runtime::iterator(std::function<std::optional<Value>()> next, size_t depth) {
  constexpr uint64_t kBytesOfIterator = 256;
  check_depth(depth);
  step();
  return Value(std::make_shared<Iterator>(Iterator{std::move(next), depth, charge(kBytesOfIterator)}));
}

void Runtime::outlives(std::shared_ptr<void> object, std::function<void()> clear) {
  constexpr uint64_t kBytesOfObject = 256;
  kept_.push_back({std::move(object), std::move(clear), charge(kBytesOfObject)});
}

void Runtime::fail(const std::string& why) const {
  Error error(ExitCode::kData, "the chat template fails on this conversation");
  error.where(where_of(origin, place)).why(why);
  throw error.hint("correct the conversation or the template (--chat_template_path names another one)");
}

void Runtime::outside(const std::string& what) const {
  Error error(ExitCode::kData, "the chat template uses what is not supported: " + what);
  error.where(where_of(origin, place))
      .why("hftrain interprets the part of Jinja that published chat templates use");
  throw error.hint("write that place in other words, or name another template with --chat_template_path");
}

void Runtime::too_much(const std::string& why) const {
  Error error(ExitCode::kData, "the chat template was stopped");
  error.where(where_of(origin, place)).why(why);
  throw error.hint("look whether the template ends, and whether the conversation is as long as it should be");
}

}  // namespace hftrain::chat

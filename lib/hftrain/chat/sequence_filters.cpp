#include <algorithm>

#include "hftrain/chat/arguments.h"
#include "hftrain/chat/filters.h"
#include "hftrain/chat/item_access.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/runtime.h"

namespace hftrain::chat {
namespace {

Value undefined_because(std::string why) {
  return Value(Undefined{std::make_shared<const std::string>(std::move(why))});
}

Value length_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "length", arguments, {});
  const auto length = length_of(runtime, value);
  if (!length) runtime.fail("object of type '" + type_name(value) + "' has no len()");
  return Value(*length);
}

Value list_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "list", arguments, {});
  return runtime.list(items_of(runtime, value));
}

Value first_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "first", arguments, {});
  auto item = iterate(runtime, value)->next();
  return item ? std::move(*item) : undefined_because("No first item, sequence was empty.");
}

Value last_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "last", arguments, {});
  const auto backwards = reversed(runtime, value);
  if (!backwards) runtime.fail("'" + type_name(value) + "' object is not reversible");
  auto item = (*backwards->get<IteratorPtr>())->next();
  return item ? std::move(*item) : undefined_because("No last item, sequence was empty.");
}

Value reverse_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "reverse", arguments, {});
  if (value.as_text() != nullptr) {
    const Value step(int64_t{-1});
    return slice_of(runtime, value, nullptr, nullptr, &step);
  }
  if (auto backwards = reversed(runtime, value)) return std::move(*backwards);
  if (!is_iterable(value)) runtime.fail("argument must be iterable");
  std::vector<Value> items = items_of(runtime, value);
  std::reverse(items.begin(), items.end());
  return runtime.list(std::move(items));
}

Value default_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "default", arguments, {"default_value", "boolean"});
  const bool missing = value.is<Undefined>() || (bound.truth(1, false) && !is_true(runtime, value));
  if (!missing) return value;
  return bound.get(0) != nullptr ? *bound.get(0) : runtime.text("");
}

Value items_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "items", arguments, {});
  if (value.is<Undefined>()) return Value(iterate(runtime, value));
  const auto* dict = value.get<DictPtr>();
  if (dict == nullptr) runtime.fail("Can only get item pairs from a mapping.");
  return Value(iterate(runtime, Value(std::make_shared<const View>(View{*dict, View::Kind::kItems}))));
}

// The next `count` items, filled up where `fill` is given; nothing where there is none.
std::optional<Value> next_batch(Runtime& runtime, Iterator& items, size_t count, const Value& fill) {
  std::vector<Value> batch;
  while (batch.size() < count) {
    auto item = items.next();
    if (!item) break;
    batch.push_back(std::move(*item));
  }
  if (batch.empty()) return std::nullopt;
  if (!fill.is<None>()) {
    runtime.expect(count, sizeof(Value));
    batch.resize(count, fill);
  }
  return runtime.list(std::move(batch));
}

Value batch_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "batch", arguments, {"linecount", "fill_with"}, 1);
  const int64_t count = bound.integer(0, 0);
  if (count < 1) runtime.outside("batch() of less than one item");
  const Value fill = bound.get(1) != nullptr ? *bound.get(1) : Value(None());
  return runtime.iterator(
      [&runtime, count, fill, items = iterate(runtime, value)] {
        return next_batch(runtime, *items, static_cast<size_t>(count), fill);
      },
      depth_of(value) + 1);
}

Value slice_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "slice", arguments, {"slices", "fill_with"}, 1);
  const std::vector<Value> items = items_of(runtime, value);
  const int64_t slices = bound.integer(0, 0);
  if (slices < 1) runtime.fail("slice() makes at least one slice");
  runtime.expect(static_cast<uint64_t>(slices), sizeof(Value) + sizeof(Sequence));
  const auto count = static_cast<size_t>(slices), least = items.size() / count, longer = items.size() % count;
  std::vector<Value> made;
  size_t from = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t size = least + (i < longer ? 1 : 0);
    std::vector<Value> part(items.begin() + static_cast<std::ptrdiff_t>(from),
                            items.begin() + static_cast<std::ptrdiff_t>(from + size));
    if (bound.given(1) != nullptr && i >= longer) part.push_back(*bound.get(1));
    made.push_back(runtime.list(std::move(part)));
    from += size;
  }
  return Value(iterate(runtime, runtime.list(std::move(made))));
}

Value attribute_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "attr", arguments, {"name"}, 1);
  const std::string name(bound.text(0));
  if (auto found = attribute_of(runtime, value, name)) return std::move(*found);
  return undefined_because("'" + type_name(value) + " object' has no attribute '" + name + "'");
}

constexpr NamedFilter kSequenceFilters[] = {
    {"attr", attribute_filter}, {"batch", batch_filter},     {"count", length_filter},
    {"d", default_filter},      {"default", default_filter}, {"first", first_filter},
    {"items", items_filter},    {"last", last_filter},       {"length", length_filter},
    {"list", list_filter},      {"reverse", reverse_filter}, {"slice", slice_filter}};

}  // namespace

std::span<const NamedFilter> sequence_filters() {
  return kSequenceFilters;
}

}  // namespace hftrain::chat

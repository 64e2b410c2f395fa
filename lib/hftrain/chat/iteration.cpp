#include "hftrain/chat/iteration.h"

#include <algorithm>

#include "hftrain/chat/runtime.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

namespace utf8 = tokenizer::unicode;

// A value that has places: how many, and what stands at one.
using At = std::function<Value(size_t)>;

IteratorPtr count_up(Runtime& runtime, size_t size, At at, size_t depth) {
  const Value made = runtime.iterator(
      [&runtime, size, at = std::move(at), i = size_t{0}]() mutable -> std::optional<Value> {
        runtime.step();
        if (i >= size) return std::nullopt;
        return at(i++);
      },
      depth);
  return *made.get<IteratorPtr>();
}

IteratorPtr characters_of(Runtime& runtime, const TextPtr& text) {
  const Value made = runtime.iterator(
      [&runtime, text, at = size_t{0}]() mutable -> std::optional<Value> {
        if (at >= text->bytes.size()) return std::nullopt;
        const size_t size = utf8::size_of(text->bytes[at]);
        at += size;
        return runtime.text(text->bytes.substr(at - size, size));
      },
      1);
  return *made.get<IteratorPtr>();
}

// Empty where the value is none that has places.
std::optional<std::pair<size_t, At>> places_of(Runtime& runtime, const Value& value) {
  if (const auto* sequence = value.get<SequencePtr>()) {
    return std::pair((*sequence)->items.size(), At([held = *sequence](size_t i) { return held->items[i]; }));
  }
  if (const auto* dict = value.get<DictPtr>()) {
    return std::pair((*dict)->size(), At([held = *dict](size_t i) { return held->items()[i].first; }));
  }
  if (const auto* view = value.get<ViewPtr>()) {
    return std::pair((*view)->dict->size(),
                     At([&runtime, held = *view](size_t i) { return item_of_view(runtime, *held, i); }));
  }
  if (const auto* range = value.get<Range>()) {
    return std::pair(static_cast<size_t>(range->size()),
                     At([held = *range](size_t i) { return Value(held.at(static_cast<int64_t>(i))); }));
  }
  if (value.is<Undefined>()) return std::pair(size_t{0}, At());
  return std::nullopt;
}

}  // namespace

std::string reason_of(const Undefined& undefined) {
  return undefined.why == nullptr ? "an undefined value is used" : *undefined.why;
}

Value item_of_view(Runtime& runtime, const View& view, size_t index) {
  const auto& [key, value] = view.dict->items()[index];
  switch (view.kind) {
    case View::Kind::kKeys:
      return key;
    case View::Kind::kValues:
      return value;
    case View::Kind::kItems:
      return runtime.tuple({key, value});
  }
  return Value();
}

bool is_iterable(const Value& value) {
  return value.is<Undefined>() || value.is<TextPtr>() || value.is<SequencePtr>() || value.is<DictPtr>() ||
         value.is<ViewPtr>() || value.is<Range>() || value.is<IteratorPtr>();
}

IteratorPtr iterate(Runtime& runtime, const Value& value) {
  if (const auto* iterator = value.get<IteratorPtr>()) return *iterator;
  if (const auto* text = value.get<TextPtr>()) return characters_of(runtime, *text);
  if (auto places = places_of(runtime, value)) {
    return count_up(runtime, places->first, std::move(places->second), depth_of(value));
  }
  runtime.fail("'" + type_name(value) + "' object is not iterable");
}

std::vector<Value> items_of(Runtime& runtime, const Value& value) {
  std::vector<Value> items;
  const IteratorPtr iterator = iterate(runtime, value);
  while (auto item = iterator->next()) {
    items.push_back(std::move(*item));
    if (items.size() % 4096 == 0) runtime.expect_held(items.size() * sizeof(Value));
  }
  return items;
}

std::optional<Value> reversed(Runtime& runtime, const Value& value) {
  if (value.as_text() != nullptr) {
    std::vector<Value> items = items_of(runtime, value);
    std::reverse(items.begin(), items.end());
    return Value(iterate(runtime, runtime.list(std::move(items))));
  }
  auto places = places_of(runtime, value);
  if (!places) return std::nullopt;
  const size_t size = places->first;
  return Value(count_up(
      runtime, size, [size, at = std::move(places->second)](size_t i) { return at(size - 1 - i); },
      depth_of(value)));
}

std::optional<int64_t> length_of(Runtime& runtime, const Value& value) {
  if (const Text* text = value.as_text()) return text->length;
  if (const auto* object = value.get<ObjectPtr>()) return (*object)->length(runtime);
  if (const auto places = places_of(runtime, value)) return static_cast<int64_t>(places->first);
  return std::nullopt;
}

}  // namespace hftrain::chat

#include "hftrain/chat/item_access.h"

#include <algorithm>

#include "hftrain/chat/comparison.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/printing.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/chat/text_search.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

Value missing(Runtime& runtime, const Value& value, const Value& key) {
  const std::string who = value.is<None>() ? "None" : type_name(value) + " object";
  const bool name = key.as_text() != nullptr;
  const std::string shown = repr(runtime, key);
  return Value(Undefined{std::make_shared<const std::string>((name ? "'" + who + "'" : who) + " has no " +
                                                             (name ? "attribute " : "element ") + shown)});
}

// The place of Python's index among `size`; nothing where it is outside.
std::optional<int64_t> place_of(int64_t index, int64_t size) {
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  return index;
}

std::optional<Value> indexed(Runtime& runtime, const Value& value, int64_t index) {
  if (const Text* text = value.as_text()) {
    const auto place = place_of(index, text->length);
    if (!place) return std::nullopt;
    runtime.read(text->is_ascii() ? 0 : text->bytes.size());
    const size_t begin = byte_of(*text, *place);
    return runtime.text(text->bytes.substr(begin, tokenizer::unicode::size_of(text->bytes[begin])));
  }
  if (const Sequence* sequence = value.as_sequence()) {
    const auto place = place_of(index, static_cast<int64_t>(sequence->items.size()));
    return place ? std::optional(sequence->items[static_cast<size_t>(*place)]) : std::nullopt;
  }
  if (const auto* range = value.get<Range>()) {
    const auto place = place_of(index, range->size());
    return place ? std::optional(Value(range->at(*place))) : std::nullopt;
  }
  return std::nullopt;
}

// value[key] of Python; nothing where it raises TypeError or LookupError.
std::optional<Value> subscripted(Runtime& runtime, const Value& value, const Value& key) {
  if (const auto* undefined = value.get<Undefined>()) runtime.fail(reason_of(*undefined));
  if (const Dict* dict = value.as_dict()) {
    if (!is_hashable(key)) return std::nullopt;
    const Value* found = dict->find(runtime, key);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  const auto index = key.as_integer();
  return index ? indexed(runtime, value, *index) : std::nullopt;
}

// Python's slice.indices().
struct SliceBounds {
  int64_t start, stop, step;
  int64_t count() const { return Range{start, stop, step}.size(); }
};

// Python takes nothing else.
bool are_bounds(std::initializer_list<const Value*> values) {
  return std::ranges::all_of(values, [](const Value* value) {
    return value == nullptr || value->is<None>() || value->as_integer().has_value();
  });
}

SliceBounds bounds_of(Runtime& runtime, int64_t size, const Value* start, const Value* stop,
                      const Value* step) {
  const auto given = [](const Value* value) { return value != nullptr && !value->is<None>(); };
  SliceBounds bounds{0, size, given(step) ? *step->as_integer() : 1};
  if (bounds.step == 0) runtime.fail("slice step cannot be zero");
  if (bounds.step == INT64_MIN) ++bounds.step;
  const int64_t least = bounds.step < 0 ? -1 : 0, most = bounds.step < 0 ? size - 1 : size;
  const auto clamp = [&](int64_t index) { return std::clamp(index < 0 ? index + size : index, least, most); };
  bounds.start = given(start) ? clamp(*start->as_integer()) : (bounds.step < 0 ? most : 0);
  bounds.stop = given(stop) ? clamp(*stop->as_integer()) : (bounds.step < 0 ? least : size);
  return bounds;
}

Value slice_of_text(Runtime& runtime, const Text& text, const SliceBounds& bounds) {
  runtime.read(text.bytes.size());
  if (bounds.step == 1) {
    const size_t begin = byte_of(text, bounds.start),
                 end = byte_of(text, std::max(bounds.start, bounds.stop));
    return runtime.text(text.bytes.substr(begin, end - begin), text.escaped);
  }
  std::vector<size_t> starts;
  for (size_t at = 0; at < text.bytes.size(); at += tokenizer::unicode::size_of(text.bytes[at]))
    starts.push_back(at);
  runtime.expect(starts.size(), sizeof(size_t));
  std::string made;
  for (int64_t i = 0, at = bounds.start; i < bounds.count(); ++i, at += bounds.step) {
    const size_t byte = starts[static_cast<size_t>(at)];
    made += text.bytes.substr(byte, tokenizer::unicode::size_of(text.bytes[byte]));
  }
  return runtime.text(std::move(made), text.escaped);
}

}  // namespace

Undefined undefined_name(std::string_view name) {
  return Undefined{std::make_shared<const std::string>("'" + std::string(name) + "' is undefined")};
}

Value member_of(Runtime& runtime, const Value& value, std::string_view name) {
  if (auto attribute = attribute_of(runtime, value, name)) return std::move(*attribute);
  if (const Dict* dict = value.as_dict()) {
    if (const Value* found = dict->find(name)) return *found;
  }
  return missing(runtime, value, runtime.text(std::string(name)));
}

Value item_of(Runtime& runtime, const Value& value, const Value& key) {
  if (auto item = subscripted(runtime, value, key)) return std::move(*item);
  if (const Text* name = key.as_text()) {
    if (auto attribute = attribute_of(runtime, value, name->bytes)) return std::move(*attribute);
  }
  return missing(runtime, value, key);
}

Value slice_of(Runtime& runtime, const Value& value, const Value* start, const Value* stop,
               const Value* step) {
  if (const auto* undefined = value.get<Undefined>()) runtime.fail(reason_of(*undefined));
  const auto length = length_of(runtime, value);
  const Text* text = value.as_text();
  const Sequence* sequence = value.as_sequence();
  const auto* range = value.get<Range>();
  if ((text == nullptr && sequence == nullptr && range == nullptr) || !are_bounds({start, stop, step})) {
    runtime.fail("'" + type_name(value) + "' object has no slice with these bounds");
  }
  const SliceBounds bounds = bounds_of(runtime, *length, start, stop, step);
  if (text != nullptr) return slice_of_text(runtime, *text, bounds);
  if (range != nullptr) {
    if (bounds.count() == 0)
      return Value(Range{range->at(bounds.start), range->at(bounds.start), range->step});
    return Value(Range{range->at(bounds.start), range->at(bounds.stop), range->step * bounds.step});
  }
  runtime.expect(static_cast<uint64_t>(bounds.count()), sizeof(Value));
  std::vector<Value> items;
  for (int64_t i = 0, at = bounds.start; i < bounds.count(); ++i, at += bounds.step) {
    items.push_back(sequence->items[static_cast<size_t>(at)]);
  }
  return sequence->is_tuple ? runtime.tuple(std::move(items)) : runtime.list(std::move(items));
}

}  // namespace hftrain::chat

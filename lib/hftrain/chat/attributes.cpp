// What stands behind value.name: methods, and members of objects.
#include <algorithm>
#include <array>

#include "hftrain/chat/callables.h"
#include "hftrain/chat/item_access.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/methods.h"
#include "hftrain/chat/runtime.h"

namespace hftrain::chat {
namespace {

// Methods that would change the value: Jinja's immutable sandbox leaves them undefined.
constexpr std::array<std::string_view, 5> kChangeDicts = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::array<std::string_view, 8> kChangeLists = {"append", "clear", "pop",    "reverse",
                                                          "insert", "sort",  "extend", "remove"};
// Members of Python's types that templates have no use for.
constexpr std::array<std::string_view, 5> kOtherOfTexts = {"encode", "maketrans", "translate", "casefold",
                                                           "expandtabs"};
constexpr std::array<std::string_view, 11> kOtherOfNumbers = {
    "real",      "imag",     "numerator",  "denominator",      "conjugate", "bit_length",
    "bit_count", "to_bytes", "from_bytes", "as_integer_ratio", "is_integer"};

template <size_t kCount>
bool among(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Value unsafe(const Value& value, std::string_view name) {
  return Value(Undefined{std::make_shared<const std::string>(
      "access to attribute '" + std::string(name) + "' of '" + type_name(value) + "' object is unsafe.")});
}

Value bound_method(MethodFunction method, const Value& self) {
  return function("builtin_function_or_method", [method, self](Runtime& runtime, const Arguments& arguments) {
    return method(runtime, self, arguments);
  });
}

std::optional<Value> method_of(MethodFunction method, const Value& self) {
  return method == nullptr ? std::nullopt : std::optional(bound_method(method, self));
}

std::optional<Value> of_range(const Range& range, std::string_view name) {
  if (name == "start") return Value(range.start);
  if (name == "stop") return Value(range.stop);
  if (name == "step") return Value(range.step);
  return std::nullopt;
}

// The filter groupby makes named tuples.
std::optional<Value> of_group(const Sequence& group, std::string_view name) {
  if (!group.is_group || (name != "grouper" && name != "list")) return std::nullopt;
  return group.items[name == "list" ? 1 : 0];
}

}  // namespace

std::optional<Value> attribute_of(Runtime& runtime, const Value& value, std::string_view name) {
  runtime.step();
  if (const auto* undefined = value.get<Undefined>()) runtime.fail(reason_of(*undefined));
  if (const auto* object = value.get<ObjectPtr>()) return (*object)->member(runtime, name);
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) return unsafe(value, name);
  if (const Text* text = value.as_text()) {
    if (among(kOtherOfTexts, name)) runtime.outside("the method " + std::string(name) + "() of texts");
    if (text->escaped && name == "join") runtime.outside("join() of a text that is marked as safe");
    return method_of(text_method(name), value);
  }
  if (value.as_dict() != nullptr) {
    if (among(kChangeDicts, name)) return unsafe(value, name);
    if (name == "fromkeys") runtime.outside("the method fromkeys() of dicts");
    return method_of(dict_method(name), value);
  }
  if (const Sequence* sequence = value.as_sequence()) {
    if (!sequence->is_tuple && among(kChangeLists, name)) return unsafe(value, name);
    if (auto member = of_group(*sequence, name)) return member;
    if (sequence->is_tuple && name == "copy") return std::nullopt;
    return method_of(sequence_method(name), value);
  }
  if (const auto* range = value.get<Range>()) return of_range(*range, name);
  if (value.as_number() && among(kOtherOfNumbers, name)) {
    runtime.outside("the member " + std::string(name) + " of numbers");
  }
  return std::nullopt;
}

}  // namespace hftrain::chat

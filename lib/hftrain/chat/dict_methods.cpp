#include <algorithm>

#include "hftrain/chat/arguments.h"
#include "hftrain/chat/comparison.h"
#include "hftrain/chat/methods.h"
#include "hftrain/chat/runtime.h"

namespace hftrain::chat {
namespace {

template <View::Kind kKind>
Value view_of(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "a view of a dict", arguments, {});
  return Value(std::make_shared<const View>(View{*self.get<DictPtr>(), kKind}));
}

Value get_item(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "get", arguments, {"key", "default"}, 1);
  if (const Value* found = self.as_dict()->find(runtime, *bound.get(0))) return *found;
  return bound.get(1) != nullptr ? *bound.get(1) : Value(None());
}

Value copy_dict(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "copy", arguments, {});
  return self;  // nothing can change either
}

Value count_items(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "count", arguments, {"value"}, 1);
  int64_t count = 0;
  for (const Value& item : self.as_sequence()->items) count += equal(runtime, item, *bound.get(0)) ? 1 : 0;
  return Value(count);
}

Value index_of_item(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "index", arguments, {"value", "start", "stop"}, 1);
  const std::vector<Value>& items = self.as_sequence()->items;
  const auto size = static_cast<int64_t>(items.size());
  const auto clamp = [size](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  const int64_t stop = clamp(bound.integer(2, size));
  for (int64_t i = clamp(bound.integer(1, 0)); i < stop; ++i) {
    if (equal(runtime, items[static_cast<size_t>(i)], *bound.get(0))) return Value(i);
  }
  runtime.fail("the value that index() looks for is not in the list");
}

constexpr NamedMethod kDictMethods[] = {{"copy", copy_dict},
                                        {"get", get_item},
                                        {"items", view_of<View::Kind::kItems>},
                                        {"keys", view_of<View::Kind::kKeys>},
                                        {"values", view_of<View::Kind::kValues>}};

constexpr NamedMethod kSequenceMethods[] = {
    {"copy", copy_dict}, {"count", count_items}, {"index", index_of_item}};

}  // namespace

MethodFunction dict_method(std::string_view name) {
  const auto* method = std::ranges::find(kDictMethods, name, &NamedMethod::name);
  return method == std::end(kDictMethods) ? nullptr : method->function;
}

MethodFunction sequence_method(std::string_view name) {
  const auto* method = std::ranges::find(kSequenceMethods, name, &NamedMethod::name);
  return method == std::end(kSequenceMethods) ? nullptr : method->function;
}

}  // namespace hftrain::chat

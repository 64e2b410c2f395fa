// map, and select and its like: filters that make their items as they are asked for.
#include "hftrain/chat/filters.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/chat/value_tests.h"

namespace hftrain::chat {
namespace {

// Jinja asks whether there is anything before it looks at the arguments.
bool is_nothing(Runtime& runtime, const Value& value) {
  return !is_true(runtime, value);
}

const Value* named_argument(const Arguments& arguments, std::string_view name) {
  for (const auto& [key, value] : arguments.named) {
    if (key == name) return &value;
  }
  return nullptr;
}

Arguments without_first(const Arguments& arguments, size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

std::string name_in(Runtime& runtime, const Value& value, const char* what) {
  if (value.as_text() == nullptr)
    runtime.fail(std::string(what) + " is named by a text, not by a " + type_name(value));
  return value.as_text()->bytes;
}

// Every item through `change`, which leaves out those that it makes nothing of.
Value made_of(Runtime& runtime, const Value& value,
              std::function<std::optional<Value>(const Value&)> change) {
  const IteratorPtr items = iterate(runtime, value);
  return runtime.iterator(
      [&runtime, items, change = std::move(change)]() -> std::optional<Value> {
        while (const auto item = items->next()) {
          runtime.step();
          if (auto made = change(*item)) return made;
        }
        return std::nullopt;
      },
      items->depth + 1);
}

Value map_attribute(Runtime& runtime, const Value& value, const Arguments& arguments) {
  for (const auto& [name, argument] : arguments.named) {
    if (name != "attribute" && name != "default") runtime.fail("Unexpected keyword argument '" + name + "'");
  }
  const AttributePath path(runtime, named_argument(arguments, "attribute"));
  const Value* otherwise = named_argument(arguments, "default");
  if (otherwise != nullptr && otherwise->is<None>()) otherwise = nullptr;
  const std::optional<Value> held = otherwise == nullptr ? std::nullopt : std::optional(*otherwise);
  return made_of(runtime, value, [path, held](const Value& item) -> std::optional<Value> {
    return path.of(item, held ? &*held : nullptr);
  });
}

Value map_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (is_nothing(runtime, value)) return Value(iterate(runtime, runtime.list({})));
  if (arguments.positional.empty()) {
    if (named_argument(arguments, "attribute") == nullptr) runtime.fail("map requires a filter argument");
    return map_attribute(runtime, value, arguments);
  }
  const std::string name = name_in(runtime, arguments.positional[0], "the filter of map");
  return made_of(
      runtime, value,
      [&runtime, name, rest = without_first(arguments, 1)](const Value& item) -> std::optional<Value> {
        return apply_filter(runtime, name, item, rest);
      });
}

template <bool kWanted, bool kOfAttribute>
Value select_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (is_nothing(runtime, value)) return Value(iterate(runtime, runtime.list({})));
  constexpr size_t kBefore = kOfAttribute ? 1 : 0;
  if (arguments.positional.size() < kBefore) runtime.fail("Missing parameter for attribute name");
  const AttributePath path(runtime, kOfAttribute ? &arguments.positional[0] : nullptr);
  const bool has_test = arguments.positional.size() > kBefore;
  const std::string test =
      has_test ? name_in(runtime, arguments.positional[kBefore], "the test of a selection") : "";
  const Arguments rest = has_test ? without_first(arguments, kBefore + 1) : Arguments();
  return made_of(runtime, value, [&runtime, path, test, rest](const Value& item) -> std::optional<Value> {
    const Value looked = path.of(item);
    const bool holds = test.empty() ? is_true(runtime, looked) : apply_test(runtime, test, looked, rest);
    return holds == kWanted ? std::optional(item) : std::nullopt;
  });
}

constexpr NamedFilter kPickingFilters[] = {{"map", map_filter},
                                           {"reject", select_filter<false, false>},
                                           {"rejectattr", select_filter<false, true>},
                                           {"select", select_filter<true, false>},
                                           {"selectattr", select_filter<true, true>}};

}  // namespace

std::span<const NamedFilter> picking_filters() {
  return kPickingFilters;
}

}  // namespace hftrain::chat

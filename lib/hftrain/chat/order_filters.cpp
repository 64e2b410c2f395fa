// Filters that compare items with each other.
#include <algorithm>
#include <unordered_map>

#include "hftrain/chat/arguments.h"
#include "hftrain/chat/comparison.h"
#include "hftrain/chat/filters.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/chat/text_pieces.h"

namespace hftrain::chat {
namespace {

struct Keyed {
  Value key, item;
};

// Stable, as Python's sorted(); with `reverse` equal items keep their order, too.
void sort_by_key(Runtime& runtime, std::vector<Keyed>& items, bool reverse) {
  const auto before = [&](const Keyed& a, const Keyed& b) {
    return reverse ? less(runtime, b.key, a.key) : less(runtime, a.key, b.key);
  };
  std::stable_sort(items.begin(), items.end(), before);
}

Value list_of_items(Runtime& runtime, const std::vector<Keyed>& keyed) {
  std::vector<Value> items;
  for (const Keyed& entry : keyed) items.push_back(entry.item);
  return runtime.list(std::move(items));
}

Value key_of(Runtime& runtime, const Value& value, bool case_sensitive) {
  return case_sensitive ? value : ignoring_case(runtime, value);
}

// The attributes of "a,b", one after another.
std::vector<AttributePath> paths_of(Runtime& runtime, const Value* attribute) {
  std::vector<AttributePath> paths;
  const Text* text = attribute == nullptr ? nullptr : attribute->as_text();
  if (text == nullptr) {
    paths.emplace_back(runtime, attribute);
    return paths;
  }
  for (const std::string_view part : split_at(text->bytes, ",", -1, Side::kLeft)) {
    const Value name = runtime.text(std::string(part));
    paths.emplace_back(runtime, &name);
  }
  return paths;
}

Value sort_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const std::vector<AttributePath> paths = paths_of(runtime, bound.get(2));
  std::vector<Keyed> items;
  for (Value& item : items_of(runtime, value)) {
    std::vector<Value> keys;
    for (const AttributePath& path : paths)
      keys.push_back(key_of(runtime, path.of(item), bound.truth(1, false)));
    items.push_back({runtime.list(std::move(keys)), std::move(item)});
  }
  sort_by_key(runtime, items, bound.truth(0, false));
  return list_of_items(runtime, items);
}

Value dict_sort_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string_view by = bound.text(1, "key");
  if (by != "key" && by != "value") runtime.fail("You can only sort by either \"key\" or \"value\"");
  if (value.as_dict() == nullptr) runtime.fail("dictsort takes a dict, not a " + type_name(value));
  std::vector<Keyed> items;
  for (const auto& [key, held] : value.as_dict()->items()) {
    items.push_back(
        {key_of(runtime, by == "key" ? key : held, bound.truth(0, false)), runtime.tuple({key, held})});
  }
  sort_by_key(runtime, items, bound.truth(2, false));
  return list_of_items(runtime, items);
}

Value unique_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "unique", arguments, {"case_sensitive", "attribute"});
  const AttributePath path(runtime, bound.get(1));
  Dict seen;
  std::vector<Value> items;
  const IteratorPtr iterator = iterate(runtime, value);
  while (const auto item = iterator->next()) {
    const size_t before = seen.size();
    seen.set(runtime, key_of(runtime, path.of(*item), bound.truth(0, false)), Value(None()));
    if (seen.size() > before) items.push_back(*item);
    runtime.expect_held(items.size() * 4 * sizeof(Value));
  }
  return Value(iterate(runtime, runtime.list(std::move(items))));
}

template <bool kLargest>
Value extreme_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, kLargest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const AttributePath path(runtime, bound.get(1));
  std::optional<Keyed> best;
  const IteratorPtr items = iterate(runtime, value);
  while (const auto item = items->next()) {
    Keyed entry{key_of(runtime, path.of(*item), bound.truth(0, false)), *item};
    const bool better =
        !best || (kLargest ? less(runtime, best->key, entry.key, ">") : less(runtime, entry.key, best->key));
    if (better) best = std::move(entry);
  }
  if (best) return best->item;
  return Value(Undefined{std::make_shared<const std::string>("No aggregated item, sequence was empty.")});
}

Value group_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(runtime, bound.get(0));
  const Value* otherwise = bound.given(1);
  std::vector<Keyed> items;
  for (Value& item : items_of(runtime, value)) {
    items.push_back({key_of(runtime, path.of(item, otherwise), bound.truth(2, false)), std::move(item)});
  }
  sort_by_key(runtime, items, false);
  std::vector<Value> groups;
  for (size_t from = 0; from < items.size();) {
    size_t end = from + 1;
    while (end < items.size() && equal(runtime, items[end].key, items[from].key)) ++end;
    const std::vector<Keyed> members(items.begin() + static_cast<std::ptrdiff_t>(from),
                                     items.begin() + static_cast<std::ptrdiff_t>(end));
    groups.push_back(
        runtime.tuple({path.of(items[from].item, otherwise), list_of_items(runtime, members)}, true));
    from = end;
  }
  return runtime.list(std::move(groups));
}

constexpr NamedFilter kOrderFilters[] = {{"dictsort", dict_sort_filter}, {"groupby", group_filter},
                                         {"max", extreme_filter<true>},  {"min", extreme_filter<false>},
                                         {"sort", sort_filter},          {"unique", unique_filter}};

}  // namespace

std::span<const NamedFilter> order_filters() {
  return kOrderFilters;
}

}  // namespace hftrain::chat

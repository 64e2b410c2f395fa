#include <algorithm>
#include <array>
#include <unordered_map>

#include "hftrain/chat/filters.h"
#include "hftrain/chat/item_access.h"
#include "hftrain/chat/numbers.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/chat/text_cases.h"
#include "hftrain/chat/text_pieces.h"

namespace hftrain::chat {
namespace {

constexpr std::array<std::string_view, 6> kForeignFilters = {"pprint", "random",   "striptags",
                                                             "urlize", "wordwrap", "xmlattr"};

const std::unordered_map<std::string_view, FilterFunction>& filter_map() {
  static const auto kMap = [] {
    std::unordered_map<std::string_view, FilterFunction> map;
    for (const auto table :
         {number_filters(), order_filters(), picking_filters(), sequence_filters(), text_filters()}) {
      for (const NamedFilter& filter : table) map.emplace(filter.name, filter.function);
    }
    return map;
  }();
  return kMap;
}

// "3" is an index, as in Jinja.
Value part_of_path(Runtime& runtime, std::string_view part) {
  const bool digits = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
  return digits ? Value(*read_integer(runtime, part, 10)) : runtime.text(std::string(part));
}

}  // namespace

FilterFunction find_filter(std::string_view name) {
  const auto found = filter_map().find(name);
  return found == filter_map().end() ? nullptr : found->second;
}

bool is_foreign_filter(std::string_view name) {
  return std::ranges::find(kForeignFilters, name) != kForeignFilters.end();
}

Value apply_filter(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments) {
  const FilterFunction filter = find_filter(name);
  if (filter == nullptr && is_foreign_filter(name)) runtime.outside("the filter '" + std::string(name) + "'");
  if (filter == nullptr) runtime.fail("No filter named '" + std::string(name) + "'.");
  return filter(runtime, value, arguments);
}

AttributePath::AttributePath(Runtime& runtime, const Value* attribute) : runtime_(runtime) {
  if (attribute == nullptr || attribute->is<None>()) return;
  const Text* text = attribute->as_text();
  if (text == nullptr) {
    parts_.push_back(*attribute);
    return;
  }
  for (const std::string_view part : split_at(text->bytes, ".", -1, Side::kLeft)) {
    parts_.push_back(part_of_path(runtime, part));
  }
}

Value AttributePath::of(const Value& item, const Value* otherwise) const {
  Value value = item;
  for (const Value& part : parts_) {
    value = item_of(runtime_, value, part);
    if (otherwise != nullptr && value.is<Undefined>()) value = *otherwise;
  }
  return value;
}

Value ignoring_case(Runtime& runtime, const Value& value) {
  const Text* text = value.as_text();
  if (text == nullptr) return value;
  runtime.expect(text->bytes.size(), 12);
  return runtime.text(in_case(text->bytes, Case::kLower));
}

}  // namespace hftrain::chat

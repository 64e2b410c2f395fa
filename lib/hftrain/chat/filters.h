// Jinja's filters: value|name(arguments).
#pragma once

#include <span>
#include <string_view>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

using FilterFunction = Value (*)(Runtime& runtime, const Value& value, const Arguments& arguments);
struct NamedFilter {
  std::string_view name;
  FilterFunction function;
};

// Null where there is none of that name.
FilterFunction find_filter(std::string_view name);
// Whether Jinja has a filter of the name that is not here.
bool is_foreign_filter(std::string_view name);
Value apply_filter(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments);

// A table for each file of filters.
std::span<const NamedFilter> number_filters();
std::span<const NamedFilter> order_filters();
std::span<const NamedFilter> picking_filters();
std::span<const NamedFilter> sequence_filters();
std::span<const NamedFilter> text_filters();

// What an attribute argument ("a.b", 0) picks of an item.
class AttributePath {
 public:
  // None, or no argument, is the item itself.
  AttributePath(Runtime& runtime, const Value* attribute);
  // `otherwise` stands in for what is undefined on the way; null leaves it undefined.
  Value of(const Value& item, const Value* otherwise = nullptr) const;

 private:
  Runtime& runtime_;
  std::vector<Value> parts_;
};

// In lower case, where it is a text.
Value ignoring_case(Runtime& runtime, const Value& value);

}  // namespace hftrain::chat

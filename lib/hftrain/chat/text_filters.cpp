#include "hftrain/chat/arguments.h"
#include "hftrain/chat/arithmetic.h"
#include "hftrain/chat/filters.h"
#include "hftrain/chat/format.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/json_output.h"
#include "hftrain/chat/methods.h"
#include "hftrain/chat/printing.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/chat/text_layout.h"
#include "hftrain/chat/text_search.h"

namespace hftrain::chat {
namespace {

// A text stays itself, all else is printed.
Value as_text_value(Runtime& runtime, const Value& value) {
  return value.as_text() != nullptr ? value : runtime.text(printed(runtime, value));
}

// A filter that is a method, of any value's text.
template <char kMethod>
Value by_method(Runtime& runtime, const Value& value, const Arguments& arguments) {
  constexpr std::string_view kName = kMethod == 'u'   ? "upper"
                                     : kMethod == 'l' ? "lower"
                                     : kMethod == 's' ? "strip"
                                                      : "capitalize";
  return text_method(kName)(runtime, as_text_value(runtime, value), arguments);
}

Value center_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "center", arguments, {"width"});
  const Value text = as_text_value(runtime, value);
  return runtime.text(aligned(runtime, *text.as_text(), bound.integer(0, 80), " ", '^'));
}

Value title_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "title", arguments, {});
  const Value text = as_text_value(runtime, value);
  runtime.expect(text.as_text()->bytes.size(), 12);
  return runtime.text(titled(text.as_text()->bytes));
}

Value replace_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "replace", arguments, {"old", "new", "count"}, 2);
  const std::string old = printed(runtime, *bound.get(0)), fresh = printed(runtime, *bound.get(1));
  const int64_t count = bound.given(2) == nullptr ? -1 : bound.integer(2, -1);
  return runtime.text(replaced(runtime, printed(runtime, value), old, fresh, count));
}

Value string_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "string", arguments, {});
  return as_text_value(runtime, value);
}

Value safe_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "safe", arguments, {});
  return runtime.text(printed(runtime, value), true);
}

Value escape_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "escape", arguments, {});
  return runtime.text(escaped_for_html(runtime, value), true);
}

Value force_escape_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "forceescape", arguments, {});
  return runtime.text(escaped_for_html(runtime, runtime.text(printed(runtime, value))), true);
}

Value indent_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "indent", arguments, {"width", "first", "blank"});
  const Text* text = value.as_text();
  if (text == nullptr) runtime.fail("indent() takes a text, not a " + type_name(value));
  const Text* given = bound.get(0) == nullptr ? nullptr : bound.get(0)->as_text();
  const int64_t width = given != nullptr ? 0 : std::max<int64_t>(bound.integer(0, 4), 0);
  runtime.expect(static_cast<uint64_t>(width));
  const std::string indention =
      given != nullptr ? given->bytes : std::string(static_cast<size_t>(width), ' ');
  return runtime.text(indented(runtime, text->bytes, indention, bound.truth(1, false), bound.truth(2, false)),
                      text->escaped);
}

Value truncate_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "truncate", arguments, {"length", "killwords", "end", "leeway"});
  const int64_t leeway = bound.given(3) == nullptr ? 5 : bound.integer(3, 5);
  const Text* text = value.as_text();
  if (text == nullptr) {  // Jinja looks at the length alone before it cuts
    const auto length = length_of(runtime, value);
    if (length && *length <= bound.integer(0, 255) + leeway && bound.integer(0, 255) >= 3) return value;
    runtime.fail("truncate() takes a text, not a " + type_name(value));
  }
  return truncated_text(runtime, *text, bound.integer(0, 255), bound.truth(1, false), bound.text(2, "..."),
                        leeway);
}

Value format_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    runtime.fail("can't handle positional and keyword arguments at the same time");
  }
  const Value text = as_text_value(runtime, value);
  Dict named;
  for (const auto& [name, item] : arguments.named) named.set(runtime, runtime.text(name), item);
  const Value values =
      arguments.named.empty() ? runtime.tuple(arguments.positional) : runtime.dict(std::move(named));
  return percent_formatted(runtime, *text.as_text(), values);
}

Value join_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "join", arguments, {"d", "attribute"});
  const std::string separator = bound.get(0) == nullptr ? "" : printed(runtime, *bound.get(0));
  const AttributePath path(runtime, bound.get(1));
  std::string made;
  bool first = true;
  const IteratorPtr items = iterate(runtime, value);
  while (const auto item = items->next()) {
    if (!first) made += separator;
    first = false;
    made += printed(runtime, path.of(*item));
    runtime.expect_held(made.size());
    runtime.read(separator.size());
  }
  return runtime.text(std::move(made));
}

Value to_json_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "tojson", arguments,
                             {"ensure_ascii", "indent", "separators", "sort_keys"});
  return runtime.text(to_json(runtime, value, json_layout(runtime, bound)));
}

Value word_count_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "wordcount", arguments, {});
  const Value text = as_text_value(runtime, value);
  runtime.step(text.as_text()->bytes.size() / 8);
  return Value(count_words(text.as_text()->bytes));
}

Value url_encode_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(runtime, "urlencode", arguments, {});
  if (value.as_text() == nullptr && is_iterable(value))
    runtime.outside("the filter urlencode for lists and dicts");
  const std::string text = printed(runtime, value);
  runtime.expect(text.size(), 3);
  return runtime.text(url_quoted(text, false));
}

constexpr NamedFilter kTextFilters[] = {{"capitalize", by_method<'c'>},
                                        {"center", center_filter},
                                        {"e", escape_filter},
                                        {"escape", escape_filter},
                                        {"forceescape", force_escape_filter},
                                        {"format", format_filter},
                                        {"indent", indent_filter},
                                        {"join", join_filter},
                                        {"lower", by_method<'l'>},
                                        {"replace", replace_filter},
                                        {"safe", safe_filter},
                                        {"string", string_filter},
                                        {"title", title_filter},
                                        {"tojson", to_json_filter},
                                        {"trim", by_method<'s'>},
                                        {"truncate", truncate_filter},
                                        {"upper", by_method<'u'>},
                                        {"urlencode", url_encode_filter},
                                        {"wordcount", word_count_filter}};

}  // namespace

std::span<const NamedFilter> text_filters() {
  return kTextFilters;
}

}  // namespace hftrain::chat

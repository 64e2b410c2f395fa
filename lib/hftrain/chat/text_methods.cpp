#include <algorithm>

#include "hftrain/chat/arguments.h"
#include "hftrain/chat/arithmetic.h"
#include "hftrain/chat/format.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/methods.h"
#include "hftrain/chat/printing.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/chat/text_cases.h"
#include "hftrain/chat/text_layout.h"
#include "hftrain/chat/text_pieces.h"
#include "hftrain/chat/text_search.h"

namespace hftrain::chat {
namespace {

using Set = std::optional<std::string_view>;

Set text_or_none(const BoundArguments& bound, size_t index) {
  return bound.given(index) == nullptr ? Set() : Set(bound.text(index));
}

template <Side kSide>
Value strip_text(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "strip", arguments, {"chars"});
  const Text& text = *self.as_text();
  const Set set = text_or_none(bound, 0);
  runtime.read(text.bytes.size());
  runtime.step(set ? set->size() * (1 + text.bytes.size() / 64) : 0);
  return runtime.text(std::string(stripped(text.bytes, set, kSide)), text.escaped);
}

Value list_of(Runtime& runtime, const std::vector<std::string_view>& parts) {
  runtime.expect(parts.size(), sizeof(Value) + sizeof(Text) + 32);
  std::vector<Value> items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) items.push_back(runtime.text(std::string(part)));
  return runtime.list(std::move(items));
}

template <Side kFrom>
Value split_text(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "split", arguments, {"sep", "maxsplit"});
  const Set separator = text_or_none(bound, 0);
  if (separator && separator->empty()) runtime.fail("empty separator");
  const std::string& text = self.as_text()->bytes;
  runtime.expect(text.size(), 2);
  return list_of(runtime, split_at(text, separator, bound.integer(1, -1), kFrom));
}

Value split_lines(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "splitlines", arguments, {"keepends"});
  runtime.read(self.as_text()->bytes.size());
  return list_of(runtime, lines_of(self.as_text()->bytes, bound.truth(0, false)));
}

template <bool kLast>
Value partition_text(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "partition", arguments, {"sep"}, 1);
  const std::string_view text = self.as_text()->bytes, separator = bound.text(0);
  if (separator.empty()) runtime.fail("empty separator");
  runtime.expect(text.size(), 2);
  const size_t at = kLast ? find_last_bytes(text, separator) : find_bytes(text, separator, 0);
  const auto part = [&](std::string_view bytes) { return runtime.text(std::string(bytes)); };
  if (at == text.npos) {
    return kLast ? runtime.tuple({part(""), part(""), self}) : runtime.tuple({self, part(""), part("")});
  }
  return runtime.tuple({part(text.substr(0, at)), part(separator), part(text.substr(at + separator.size()))});
}

// The bytes [start, stop) that a method looks at, of its second and third argument.
struct Region {
  size_t begin = 0, end = 0;
  bool empty = false;  // begins behind the end
};

Region region_of(const Text& text, const BoundArguments& bound) {
  const auto clamp = [&](int64_t at) { return std::max<int64_t>(at < 0 ? at + text.length : at, 0); };
  const int64_t start = bound.given(1) != nullptr ? clamp(bound.integer(1, 0)) : 0;
  const int64_t stop =
      std::min(bound.given(2) != nullptr ? clamp(bound.integer(2, 0)) : text.length, text.length);
  return {byte_of(text, start), byte_of(text, stop), start > stop};
}

bool starts_or_ends(std::string_view text, std::string_view part, bool start) {
  return start ? text.starts_with(part) : text.ends_with(part);
}

template <bool kStart>
Value starts_with(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const std::string_view name = kStart ? "startswith" : "endswith";
  const BoundArguments bound(runtime, name, arguments, {"prefix", "start", "end"}, 1);
  const Region region = region_of(*self.as_text(), bound);
  const std::string_view text =
      std::string_view(self.as_text()->bytes).substr(region.begin, region.end - region.begin);
  const Sequence* several = bound.get(0)->as_sequence();
  if (several == nullptr || !several->is_tuple) {
    if (bound.get(0)->as_text() == nullptr) {
      runtime.fail(std::string(name) + " first arg must be str or a tuple of str, not " +
                   type_name(*bound.get(0)));
    }
    return Value(!region.empty && starts_or_ends(text, bound.text(0), kStart));
  }
  for (const Value& part : several->items) {
    if (part.as_text() == nullptr) runtime.fail(std::string(name) + " takes a tuple of texts");
    runtime.read(part.as_text()->bytes.size());
    if (!region.empty && starts_or_ends(text, part.as_text()->bytes, kStart)) return Value(true);
  }
  return Value(false);
}

template <bool kLast, bool kMust>
Value find_in_text(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "find", arguments, {"sub", "start", "end"}, 1);
  const Text& text = *self.as_text();
  const Region region = region_of(text, bound);
  runtime.expect(text.bytes.size(), 2);
  const std::string_view part = bound.text(0), looked = std::string_view(text.bytes).substr(0, region.end);
  const size_t at = kLast ? find_last_bytes(looked.substr(std::min(region.begin, looked.size())), part)
                          : find_bytes(looked, part, region.begin);
  if (at != looked.npos && !region.empty) return Value(character_of(text, kLast ? at + region.begin : at));
  if (kMust) runtime.fail("substring not found");
  return Value(int64_t{-1});
}

Value count_in_text(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "count", arguments, {"sub", "start", "end"}, 1);
  const Region region = region_of(*self.as_text(), bound);
  runtime.read(self.as_text()->bytes.size());
  if (region.empty) return Value(int64_t{0});
  return Value(
      count_of(std::string_view(self.as_text()->bytes).substr(region.begin, region.end - region.begin),
               bound.text(0)));
}

Value replace_in_text(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "replace", arguments, {"old", "new", "count"}, 2);
  const Text& text = *self.as_text();
  const std::string fresh(bound.text(1));
  const std::string put = text.escaped ? escaped_for_html(runtime, *bound.get(1)) : fresh;
  return runtime.text(replaced(runtime, text.bytes, bound.text(0), put, bound.integer(2, -1)), text.escaped);
}

Value join_texts(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "join", arguments, {"iterable"}, 1);
  std::string made;
  size_t count = 0;
  const IteratorPtr items = iterate(runtime, *bound.get(0));
  while (const auto item = items->next()) {
    const Text* text = item->as_text();
    if (text == nullptr) {
      runtime.fail("sequence item " + std::to_string(count) + ": expected str instance, " + type_name(*item) +
                   " found");
    }
    if (count++ > 0) made += self.as_text()->bytes;
    made += text->bytes;
    runtime.read(text->bytes.size() + self.as_text()->bytes.size());
    if (made.size() > (1 << 16)) runtime.expect_held(made.size());
  }
  return runtime.text(std::move(made));
}

template <std::string (*kChange)(std::string_view)>
Value change_case(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "a method for upper and lower case", arguments, {});
  const Text& text = *self.as_text();
  runtime.step(text.bytes.size() / 8);
  runtime.expect(text.bytes.size(), 12);
  return runtime.text(kChange(text.bytes), text.escaped);
}

std::string upper_text(std::string_view text) {
  return in_case(text, Case::kUpper);
}

std::string lower_text(std::string_view text) {
  return in_case(text, Case::kLower);
}

template <bool kPrefix>
Value remove_affix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, kPrefix ? "removeprefix" : "removesuffix", arguments, {"affix"}, 1);
  std::string_view text = self.as_text()->bytes;
  const std::string_view affix = bound.text(0);
  if (!starts_or_ends(text, affix, kPrefix)) return self;
  kPrefix ? text.remove_prefix(affix.size()) : text.remove_suffix(affix.size());
  return runtime.text(std::string(text));
}

template <char kAlign>
Value align_text(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "a method that fills up", arguments, {"width", "fillchar"}, 1);
  return runtime.text(aligned(runtime, *self.as_text(), bound.integer(0, 0), bound.text(1, " "), kAlign));
}

Value fill_with_zeros(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "zfill", arguments, {"width"}, 1);
  const Text& text = *self.as_text();
  const bool has_sign = text.bytes.starts_with('-') || text.bytes.starts_with('+');
  const Value digits = runtime.text(text.bytes.substr(has_sign ? 1 : 0));
  const int64_t width = bound.integer(0, 0) - (has_sign ? 1 : 0);
  return runtime.text(text.bytes.substr(0, has_sign ? 1 : 0) +
                      aligned(runtime, *digits.as_text(), width, "0", '>'));
}

Value format_text(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return brace_formatted(runtime, *self.as_text(), arguments);
}

Value format_text_with(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, "format_map", arguments, {"mapping"}, 1);
  const Dict* dict = bound.get(0)->as_dict();
  if (dict == nullptr) runtime.fail("format_map() takes a dict");
  Arguments named;
  for (const auto& [key, value] : dict->items()) {
    if (key.as_text() != nullptr) named.named.emplace_back(key.as_text()->bytes, value);
  }
  return brace_formatted(runtime, *self.as_text(), named);
}

// isalpha and its like differ by name alone: kIndex is the place in the table of qualities.
template <size_t kIndex>
Value ask_quality(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const BoundArguments bound(runtime, kQualityNames[kIndex], arguments, {});
  const std::string& text = self.as_text()->bytes;
  runtime.step(text.size() / 8);
  runtime.expect(text.size(), 4);
  return Value(has_quality(kIndex, text));
}

template <size_t... kIndices>
MethodFunction quality_method(std::string_view name, std::index_sequence<kIndices...>) {
  constexpr MethodFunction kFunctions[] = {ask_quality<kIndices>...};
  const auto place = std::ranges::find(kQualityNames, name);
  return place == kQualityNames.end() ? nullptr : kFunctions[place - kQualityNames.begin()];
}

constexpr NamedMethod kTextMethods[] = {{"capitalize", change_case<capitalized>},
                                        {"center", align_text<'^'>},
                                        {"count", count_in_text},
                                        {"endswith", starts_with<false>},
                                        {"find", find_in_text<false, false>},
                                        {"format", format_text},
                                        {"format_map", format_text_with},
                                        {"index", find_in_text<false, true>},
                                        {"join", join_texts},
                                        {"ljust", align_text<'<'>},
                                        {"lower", change_case<lower_text>},
                                        {"lstrip", strip_text<Side::kLeft>},
                                        {"partition", partition_text<false>},
                                        {"removeprefix", remove_affix<true>},
                                        {"removesuffix", remove_affix<false>},
                                        {"replace", replace_in_text},
                                        {"rfind", find_in_text<true, false>},
                                        {"rindex", find_in_text<true, true>},
                                        {"rjust", align_text<'>'>},
                                        {"rpartition", partition_text<true>},
                                        {"rsplit", split_text<Side::kRight>},
                                        {"rstrip", strip_text<Side::kRight>},
                                        {"split", split_text<Side::kLeft>},
                                        {"splitlines", split_lines},
                                        {"startswith", starts_with<true>},
                                        {"strip", strip_text<Side::kBoth>},
                                        {"swapcase", change_case<swapped_case>},
                                        {"title", change_case<title_cased>},
                                        {"upper", change_case<upper_text>},
                                        {"zfill", fill_with_zeros}};

}  // namespace

MethodFunction text_method(std::string_view name) {
  const auto* method = std::ranges::find(kTextMethods, name, &NamedMethod::name);
  if (method != std::end(kTextMethods)) return method->function;
  return quality_method(name, std::make_index_sequence<kQualityNames.size()>());
}

}  // namespace hftrain::chat

// JSON access for the whole project. nlohmann::json with sorted keys, which is also how transformers writes
// its files.
#pragma once

#include <cmath>
#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// Compiled once, in json.cpp, instead of in every source that reads a value.
extern template class nlohmann::basic_json<>;

namespace hftrain {

using Json = nlohmann::json;

// Integers that count something.
template <typename T>
concept WholeNumber = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

// How deep arrays and objects may be nested in a text from outside: several times what any format needs.
// Copying, comparing and writing a value calls itself for every level, so that a text of brackets would
// overflow the stack.
constexpr int kDeepestJson = 100;

// Parses JSON text; `origin` names it in the error (a path, or the flag it came from). `//` and `/* */`
// comments are accepted, and NaN, Infinity and -Infinity as Python writes them. Errors (exit code
// `error_code`) carry origin:line:column; that of a number which no double holds the origin alone.
Json parse_json(std::string_view text, const std::string& origin, int error_code = 4);

// What another process wrote: nothing when it is not JSON. Never throws for what stands in the text.
std::optional<Json> try_parse_json(std::string_view text);

// Reads and parses a file.
Json read_json_file(const std::string& path, int error_code = 4);

// Two-space (or `indent`) layout with sorted keys and no final newline. Non-finite numbers are written as
// NaN, Infinity and -Infinity, as Python does, because the peers' readers expect that.
std::string dump_json(const Json& value, int indent = 2);

}  // namespace hftrain

namespace nlohmann {

// Whole numbers as they are, or an exception: by itself the library turns 2.5 into 2, 2^40 into 0 and calls
// 1e300 whatever the processor makes of it. 5e8 is a whole number.
template <hftrain::WholeNumber Number>
struct adl_serializer<Number> {
  static void to_json(json& target, Number value) { nlohmann::to_json(target, value); }
  static void from_json(const json& source, Number& value) {
    if (source.is_number_unsigned()) {
      take(source.get_ref<const json::number_unsigned_t&>(), source, value);
    } else if (source.is_number_integer()) {
      take(source.get_ref<const json::number_integer_t&>(), source, value);
    } else if (source.is_number_float()) {
      const double number = source.get_ref<const json::number_float_t&>();
      // 2^63 and beyond have no place in an int64_t; a float that large is no count of anything.
      if (std::nearbyint(number) != number || std::abs(number) >= 0x1p63) refuse(source);
      take(static_cast<json::number_integer_t>(number), source, value);
    } else {
      throw json::type_error::create(302, std::string("type must be number, but is ") + source.type_name(),
                                     &source);
    }
  }

 private:
  template <typename Wide>
  static void take(Wide number, const json& source, Number& value) {
    if (!std::in_range<Number>(number)) refuse(source);
    value = static_cast<Number>(number);
  }
  [[noreturn]] static void refuse(const json& source) {
    throw json::out_of_range::create(406, source.dump() + " is not a whole number in range", &source);
  }
};

// std::optional as null or value, so that plain structs with optional members can be declared serialisable.
template <typename T>
struct adl_serializer<std::optional<T>> {
  static void to_json(json& target, const std::optional<T>& value) {
    if (value) {
      target = *value;
    } else {
      target = nullptr;
    }
  }
  static void from_json(const json& source, std::optional<T>& value) {
    if (source.is_null()) {
      value.reset();
    } else {
      value = source.get<T>();
    }
  }
};
}  // namespace nlohmann

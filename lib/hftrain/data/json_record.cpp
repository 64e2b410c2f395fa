#include "hftrain/data/json_record.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace hftrain::data {
namespace {

// Where the string that begins at `i` ends, or the text.
size_t json_string_end(std::string_view json, size_t i) {
  for (++i; i < json.size() && json[i] != '"'; ++i) {
    if (json[i] == '\\') ++i;
  }
  return std::min(i + 1, json.size());
}

template <typename Integer>
bool number_fits(std::string_view number) {
  Integer value;
  return std::from_chars(number.data(), number.data() + number.size(), value).ec == std::errc();
}

bool needs_fraction(std::string_view number) {
  return number.find_first_of("+.eE") == std::string_view::npos && !number_fits<int64_t>(number) &&
         !number_fits<uint64_t>(number);
}

// The text, with ".0" behind every whole number that 64 bits do not hold.
std::string with_fractions(std::string_view json) {
  std::string text;
  text.reserve(json.size() + 64);
  for (size_t i = 0, end; i < json.size(); i = end) {
    const bool is_number = json[i] == '-' || (json[i] >= '0' && json[i] <= '9');
    if (is_number) {
      end = std::min(json.find_first_not_of("+-.0123456789eE", i), json.size());
    } else {
      end = json[i] == '"' ? json_string_end(json, i) : i + 1;
    }
    const std::string_view part = json.substr(i, end - i);
    text += part;
    if (is_number && needs_fraction(part)) text += ".0";
  }
  return text;
}

}  // namespace

simdjson::error_code parse_json_value(simdjson::dom::parser& parser, const char* json, size_t size,
                                      simdjson::dom::element& value) {
  const simdjson::error_code error = parser.parse(json, size, false).get(value);
  if (error == simdjson::SUCCESS) return error;
  // Its versions have different errors for a long number, so the text is asked.
  const std::string text = with_fractions({json, size});
  return text.size() == size ? error : parser.parse(text).get(value);
}

}  // namespace hftrain::data

// From what was written (text, a YAML or JSON value) to a flag's typed value, and back to text.
//
// Written values are Json too: text is a string whatever it looks like, because YAML 1.1 and users disagree
// about what `5e-5`, `no` or `0,1` are; the flag's type decides.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "hftrain/arguments/flag.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json.h"

namespace hftrain::arguments {

// Why a value is not one: "what" of the diagnostic without the flag's name, and what to do about it.
struct ValueError {
  std::string what;
  std::string hint;
  std::string pointer;  // JSON pointer of the offending part of a mapping; empty: the value as a whole
};

template <typename T>
using Result = std::variant<T, ValueError>;

// The JSON file whose name stands for a mapping; empty: the mapping itself was given.
std::string file_of_mapping(const Json& written);
// Type, choices and range are checked; support is not. `home` replaces a leading ~ in paths.
Result<Json> convert(const Flag& flag, const Json& written, const std::string& home);
// A mapping against its keys. Keys that start with "_" are comments and are dropped.
Result<Json> convert_mapping(std::span<const Key> keys, const Json& written, const std::string& pointer = "");

// A written truth value of accelerate or DeepSpeed, which have on and off beside the words of flags.
Json truth_of_launchers(Json written);
// What such a flag, or a key of theirs, makes of it, whatever its case; nothing of what is no truth value.
std::optional<bool> truth_of(const Json& written);

// Of a whole number in disguise (5e8, 200000000.0, as a number or its text) that number; anything else as it was written.
Json undisguised(const Json& written);

// Of a number its text without the underscores between digits that Python and YAML take, and JSON does not: 20_000. Any other
// text as it is.
std::string plain_number(const std::string& text);
// What a person wrote for a flag, as a number without them where it takes one.
Json with_plain_numbers(const Flag& flag, Json written);

// A default written as text in a row.
Json neutral_value(Type type, std::string_view text);

// The value as a user would write it in YAML, on one line.
std::string to_yaml(const Json& value);
// The same for a file that readers of YAML 1.1 (PyYAML) may open: numbers and text that they would take for something else are
// written so that they do not.
std::string to_yaml_of_file(const Json& value);

}  // namespace hftrain::arguments

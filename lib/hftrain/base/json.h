// JSON access for the whole project. nlohmann::json with sorted keys, which is also how transformers writes
// its files.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace hftrain {

using Json = nlohmann::json;

// Parses JSON text; `origin` names it in the error (a path, or the flag it came from). `//` and `/* */`
// comments are accepted. Errors (exit code `code`) carry origin:line:column.
Json parse_json(std::string_view text, const std::string& origin, int error_code = 4);

// Reads and parses a file.
Json read_json_file(const std::string& path, int error_code = 4);

// Two-space (or `indent`) layout with sorted keys and no final newline. Non-finite numbers are written as
// NaN, Infinity and -Infinity, as Python does, because the peers' readers expect that.
std::string dump_json(const Json& value, int indent = 2);

}  // namespace hftrain

// std::optional as null or value, so that plain structs with optional members can be declared serialisable.
namespace nlohmann {
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
